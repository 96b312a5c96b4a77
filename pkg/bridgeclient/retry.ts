import { type BackoffOptions, backoffMs } from "../../internal/base/backoff.ts";
import { networkFailureOf } from "../../internal/rpc/common/network-errors.ts";
import type { BridgeError } from "./errors.ts";

export interface RetryState {
  /** Tries that have failed, this one included. */
  readonly failures: number;
  /** Until the call's deadline, ms. */
  readonly leftMs: number;
}

export interface RetryRules {
  readonly maxAttempts: number;
  readonly backoff: BackoffOptions;
}

/** How long to wait before a retry, ms; undefined: the failure is final. */
export function retryWaitMs(
  error: BridgeError,
  { failures, leftMs }: RetryState,
  { maxAttempts, backoff }: RetryRules,
  random: () => number,
): number | undefined {
  if (failures >= maxAttempts || !mayPass(error, failures)) return undefined;
  const waitMs = Math.max(backoffMs(backoff, failures - 1, random), error.retryAfterMs ?? 0);
  return waitMs < leftMs ? waitMs : undefined;
}

/** Whether the same call may succeed a moment later. */
function mayPass(error: BridgeError, failures: number): boolean {
  if (error.code === "unavailable" || error.code === "aborted") return true;
  return failures === 1 && isHandshakeCut(error);
}

/** A connection that ended before the bridge said anything: refused for its certificate, or cut at a bad moment. */
function isHandshakeCut(error: BridgeError): boolean {
  return error.code === "unauthenticated" && !error.fromServer && networkFailureOf(error) === undefined;
}
