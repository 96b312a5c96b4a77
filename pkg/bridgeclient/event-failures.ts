import { type BackoffOptions, backoffMs } from "../../internal/base/backoff.ts";
import type { BridgeError, BridgeErrorCode } from "./errors.ts";

/** How to continue after a stream of events has failed. */
export type AfterFailure =
  | { readonly type: "fail" }
  | { readonly type: "reconnect"; readonly waitMs: number }
  /** The session's log has restarted with another epoch. */
  | { readonly type: "begin-again"; readonly epoch: string };

export interface StreamState {
  /** Failures since the last event, this one included. */
  readonly failures: number;
  /** Epoch of the events so far; empty: not known. */
  readonly epoch: string;
}

/** Codes of a bridge that is unreachable, shutting down or busy: the client reconnects without a limit. */
const PASSES: ReadonlySet<BridgeErrorCode> = new Set<BridgeErrorCode>([
  "unavailable",
  "aborted",
  "canceled",
  "deadline_exceeded",
  "resource_exhausted",
]);

/**
 * After up to this many failures in a row the client reconnects: an expired token, a certificate that is being replaced
 * or a broken frame seldom causes more than one failure.
 */
const PATIENCE: { readonly [code in BridgeErrorCode]?: number } = {
  unauthenticated: 3,
  internal: 3,
  unknown: 3,
  data_loss: 3,
};
/**
 * The limit for a client that the bridge has admitted before: a connection that is cut right after the handshake looks
 * like a refused certificate.
 */
const PATIENCE_OF_KNOWN = 10;

export function afterFailure(
  error: BridgeError,
  { failures, epoch }: StreamState,
  backoff: BackoffOptions,
  random: () => number,
): AfterFailure {
  const current = error.code === "failed_precondition" ? error.fields["epoch"] : undefined;
  if (current && epoch !== "" && current !== epoch) return { type: "begin-again", epoch: current };
  const isKnown = error.code === "unauthenticated" && epoch !== "";
  const patience = isKnown ? PATIENCE_OF_KNOWN : (PATIENCE[error.code] ?? 0);
  const passes = PASSES.has(error.code) || failures <= patience;
  if (!passes) return { type: "fail" };
  return {
    type: "reconnect",
    waitMs: Math.max(backoffMs(backoff, failures - 1, random), error.retryAfterMs ?? 0),
  };
}
