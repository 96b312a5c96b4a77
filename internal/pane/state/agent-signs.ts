/** The agent's own reports, newest first; times are monotonic milliseconds. */
export interface AgentSigns {
  /** The newest report that a message was taken, if it came after `since`. */
  promptTakenSince(since: number): { readonly prompt?: string; readonly at: number } | undefined;
  /** The agent is known to report messages that it takes, so the report is worth a short wait. */
  reportsPrompts(): boolean;
  /** True if it has reported a taken message since it was started, or since observation began. */
  hasReported(): boolean;
  /** True if it was seen to start, and no sign shows that it has taken a message since. */
  isNew(): boolean;
  /** True if a source stronger than the screen reports that the agent waits for a person. */
  waitsForPerson(): boolean;
}
