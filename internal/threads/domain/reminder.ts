import type { RuntimeStatus } from "./runtimes.ts";

/** An agent was given messages of these threads and has not acknowledged them. */
export interface ForgottenMessages {
  readonly workspace: string;
  readonly agentId: string;
  /** `reminders`: how often the agent was reminded of this thread. */
  readonly threads: readonly { readonly threadId: string; readonly reminders: number }[];
}

/** The reason of a wake that reminds. */
export const REMINDER = "not acknowledged";
/** An agent is reminded so often; then people are shown the messages. */
export const REMINDERS = 2;
/** An agent has this long to acknowledge what it was given, ms. */
export const REMIND_MS = 120_000;

/** Whether the agent has had its time: it has been idle for it. `now`: wall clock, ms. */
export function hasForgotten(
  status: Pick<RuntimeStatus, "alive" | "state" | "stateSince"> | undefined,
  now: number,
): boolean {
  return status?.alive === true && status.state === "idle" && now - status.stateSince >= REMIND_MS;
}
