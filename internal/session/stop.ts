/** How an agent is to end. */
export interface StopRequest {
  /**
   * The grace period between the request to exit and the kill, ms; 0: the one that its sidecar was started with. At
   * most 600,000.
   */
  readonly graceMs: number;
  /** Kill at once. */
  readonly force: boolean;
}

/** How an agent finally ended. */
export interface StopResult {
  /** 128 + n for signal n; absent if it is not reported. */
  readonly exitCode?: number;
  /** E.g. `SIGTERM`; empty when no signal ended it. */
  readonly signal: string;
  /** It had ended before the request. */
  readonly alreadyStopped: boolean;
}
