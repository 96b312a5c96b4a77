import type { RuntimeStatus } from "./runtimes.ts";

/** A wake whose text was typed without proof a minute or more ago, and whose agent has not read or posted since. */
export interface DoubtfulWake {
  readonly workspace: string;
  readonly wakeId: string;
  readonly agentId: string;
}

/** The reason of the wake that repeats a doubtful one; each is repeated once. */
export const SECOND_LOOK = "second look";

/**
 * Whether a text without proof may be typed again: only if the agent is idle and its composer is empty. In any other
 * state the first text may still be on its way or in the composer. `status`: undefined if no runtime answers.
 */
export function mayTypeAgain(status: Pick<RuntimeStatus, "alive" | "state" | "draft"> | undefined): boolean {
  return status?.alive === true && status.state === "idle" && !status.draft;
}
