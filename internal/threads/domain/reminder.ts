import type { RuntimeStatus } from "./runtimes.ts";

/** Threads with messages that an agent has been given and has not acknowledged. */
export interface ForgottenMessages {
  readonly workspace: string;
  readonly agentId: string;
  /** `reminders`: how often the agent was reminded of this thread. */
  readonly threads: readonly { readonly threadId: string; readonly reminders: number }[];
}

/** The reason of a wake that reminds an agent. */
export const REMINDER = "not acknowledged";
/** Reminders that an agent gets for a thread before its messages are escalated to people. */
export const REMINDERS = 2;
/** How long an agent may take to acknowledge messages, ms. */
export const REMIND_MS = 120_000;

/**
 * Whether the agent has been idle for `REMIND_MS`; false without a status. An agent that last printed before
 * `stateSince` has been idle since it printed: a restarted serving half saw its state only later. `now`: wall clock,
 * ms.
 */
export function hasForgotten(
  status: Pick<RuntimeStatus, "alive" | "state" | "stateSince" | "lastOutputAt"> | undefined,
  now: number,
): boolean {
  if (status?.alive !== true || status.state !== "idle") return false;
  const { stateSince, lastOutputAt = stateSince } = status;
  return now - Math.min(stateSince, lastOutputAt) >= REMIND_MS;
}
