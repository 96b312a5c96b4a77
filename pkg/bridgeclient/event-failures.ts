import { type BackoffOptions, backoffMs } from "../../internal/base/backoff.ts";
import type { BridgeError, BridgeErrorCode } from "./errors.ts";

/** What to do when a stream of events has broken. */
export type AfterFailure =
  | { readonly type: "fail" }
  | { readonly type: "reconnect"; readonly waitMs: number }
  /** The log has another epoch now. */
  | { readonly type: "begin-again"; readonly epoch: string };

export interface StreamState {
  /** Failures since the last event, this one included. */
  readonly failures: number;
  /** Of the events so far; empty: not known. */
  readonly epoch: string;
}

/** The bridge cannot be reached, is going away or is busy: as often as it takes. */
const PASSES: ReadonlySet<BridgeErrorCode> = new Set<BridgeErrorCode>([
  "unavailable",
  "aborted",
  "canceled",
  "deadline_exceeded",
  "resource_exhausted",
]);

/**
 * A token that has just ended, a certificate that is being replaced, a broken frame: seldom more than once in a row.
 */
const MAY_PASS: ReadonlySet<BridgeErrorCode> = new Set<BridgeErrorCode>([
  "unauthenticated",
  "internal",
  "unknown",
  "data_loss",
]);
const PATIENCE = 3;

export function afterFailure(
  error: BridgeError,
  { failures, epoch }: StreamState,
  backoff: BackoffOptions,
  random: () => number,
): AfterFailure {
  const current = error.code === "failed_precondition" ? error.fields["epoch"] : undefined;
  if (current && epoch !== "" && current !== epoch) return { type: "begin-again", epoch: current };
  const passes = PASSES.has(error.code) || (MAY_PASS.has(error.code) && failures <= PATIENCE);
  if (!passes) return { type: "fail" };
  return {
    type: "reconnect",
    waitMs: Math.max(backoffMs(backoff, failures - 1, random), error.retryAfterMs ?? 0),
  };
}
