import { type BackoffOptions, backoffMs } from "../../internal/base/backoff.ts";
import { networkFailureOf } from "../../internal/rpc/common/network-errors.ts";
import type { BridgeError } from "./errors.ts";

export interface RetryState {
  /** Failed attempts, including this one. */
  readonly failures: number;
  /** Time left until the call's deadline, ms. */
  readonly leftMs: number;
}

export interface RetryRules {
  readonly maxAttempts: number;
  readonly backoff: BackoffOptions;
}

/** How long to wait before the next attempt, ms; undefined: do not retry. */
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

/**
 * Whether the connection ended before the bridge responded: the bridge refused the certificate, or the connection was
 * cut by chance.
 */
function isHandshakeCut(error: BridgeError): boolean {
  return error.code === "unauthenticated" && !error.fromServer && networkFailureOf(error) === undefined;
}
