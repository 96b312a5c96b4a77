import type { RuntimeStatus } from "./runtimes.ts";

/** An agent was given messages of these threads and has not acknowledged them. */
export interface ForgottenMessages {
  readonly workspace: string;
  readonly agentId: string;
  /** With how often each was brought back to mind. */
  readonly threads: readonly { readonly threadId: string; readonly reminders: number }[];
}

/** Of the wake that brings messages back to mind. */
export const REMINDER = "not acknowledged";
/** So often messages wait again; then they are for people to see. */
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
