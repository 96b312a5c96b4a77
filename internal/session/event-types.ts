import type { Followed } from "../eventlog/log-cursor.ts";
import type { AgentStateName, Dialog, NudgeReceipt } from "./types.ts";

/** An event of the agent's session. `at`: wall clock, ms. Secrets were removed from the texts (`Redactor`). */
export type SessionEvent = { readonly at: number } & (
  | { readonly type: "session-started" }
  /** `done`: nothing follows. */
  | { readonly type: "session-stopped"; readonly done: boolean }
  | { readonly type: "session-failed"; readonly done: boolean; readonly error: string }
  /** Lines that became final, each ended by LF; a text without LF at its end continues in the next event. */
  | { readonly type: "stdout"; readonly text: string }
  /** Like `stdout`, for a program's standard error; a terminal has none. */
  | { readonly type: "stderr"; readonly text: string }
  /** Takes the place of output that was never made into lines; `error` says how much. */
  | { readonly type: "output-lost"; readonly reason: "restart" | "truncated"; readonly error: string }
  | { readonly type: "input-received"; readonly requestId: string; readonly text: string }
  | { readonly type: "nudge-receipt"; readonly receipt: NudgeReceipt }
  /** `text`: the background tasks of an idle agent; empty: none. */
  | { readonly type: "phase-changed"; readonly state: AgentStateName; readonly text: string }
  | { readonly type: "dialog-opened" | "dialog-closed"; readonly dialog: Dialog }
);

/** An event with its place in the log, or the gap of a reader. */
export type FollowedEvent = Followed<SessionEvent>;

/** The most characters of one `stdout` or `stderr` event. */
export const EVENT_TEXT_CHARS = 8192;
