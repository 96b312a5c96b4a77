import { DomainError } from "../../base/errors.ts";

/** True if tmux, the session or the pane is away: they return, or the supervising half recreates them. */
export function isTmuxAway(err: unknown): boolean {
  return err instanceof DomainError && (err.kind === "unavailable" || err.kind === "precondition");
}
