import type { RuntimeStatus } from "./runtimes.ts";

/** A wake was typed without proof, and a minute later nothing of it has been read. */
export interface DoubtfulWake {
  readonly workspace: string;
  readonly wakeId: string;
  readonly agentId: string;
}

/** Of the wake by which a doubtful one is tried again, once. */
export const SECOND_LOOK = "second look";

/**
 * Whether a text that left no proof may be typed once more: only before an agent that waits with an empty composer can
 * the first one be neither on its way nor standing there. `status`: undefined where no runtime answers.
 */
export function mayTypeAgain(status: Pick<RuntimeStatus, "alive" | "state" | "draft"> | undefined): boolean {
  return status?.alive === true && status.state === "idle" && !status.draft;
}
