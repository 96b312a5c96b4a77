import { foldedLine } from "../../base/sanitise.ts";
import type { RuntimeStatus } from "./runtimes.ts";

/** Why the text of a queued wake has not been typed yet. */
export interface Blocked {
  readonly by: "busy" | "dialog" | "draft" | "person" | "parked" | "unreachable";
  /** The dialog's title: one plain line of at most 120 characters. */
  readonly title?: string;
}

/** A dialog that blocks a wake for this long is reported to people. */
export const DIALOG_MS = 60_000;
const TITLE = 120;

/** The cause that blocks a queued wake, from its agent's status. `status`: undefined if the runtime does not answer. */
export function blockedBy(status: RuntimeStatus | undefined): Blocked {
  if (status === undefined) return { by: "unreachable" };
  const { state, draft, dialogTitle = "" } = status;
  if (state === "dialog") return { by: "dialog", title: [...foldedLine(dialogTitle)].slice(0, TITLE).join("") };
  if (state === "parked" || state === "busy") return { by: state };
  if (draft) return { by: "draft" };
  return { by: state === "idle" ? "person" : "busy" };
}

/** Counts a draft as a person at the keys, so that the block continues when one follows the other. */
export function causeOf(by: string): string {
  return by === "draft" ? "person" : by;
}

/**
 * Whether a person counts as present: for `quietMs` after the last key, and while the composer holds a draft. `now`:
 * wall clock, ms.
 */
export function isPersonPresent(
  { draft, personInputAt }: Pick<RuntimeStatus, "draft" | "personInputAt">,
  quietMs: number,
  now: number,
): boolean {
  return draft || (personInputAt !== undefined && now - personInputAt < quietMs);
}

/**
 * Whether to take a queued wake back from the sidecar because a person has blocked it for `maxDeferMs`. Its text is
 * typed once the person has pressed no key for a while.
 */
export function mustDefer(by: string, forMs: number, maxDeferMs: number): boolean {
  return causeOf(by) === "person" && forMs >= maxDeferMs;
}
