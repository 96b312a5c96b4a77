import type { KubeRequest } from "./kube-api.ts";
import { KubeApiError, KubeUnreachableError } from "./kube-errors.ts";

/** As in client-go. */
const MAX_REPEATS = 10;

/**
 * How long to wait before a failed call is repeated, ms; undefined: do not repeat it. Repeats only calls that certainly
 * had no effect: the server asks to retry; a token was refused (once); a read got no response (once: the idle
 * connection was being closed).
 */
export function repeatAfterMs(err: unknown, method: KubeRequest["method"], repeats: number): number | undefined {
  if (err instanceof KubeUnreachableError) return method === "GET" && repeats === 0 ? 0 : undefined;
  if (!(err instanceof KubeApiError)) return undefined;
  if (err.fault === "unauthenticated") return repeats === 0 ? 0 : undefined;
  if (err.status !== 429 && err.status < 500) return undefined;
  return repeats < MAX_REPEATS ? err.retryAfterMs : undefined;
}

/** Milliseconds of a Retry-After header in seconds, as the API server sends it. Undefined: none, or not a number. */
export function retryAfterMs(header: string | readonly string[] | undefined): number | undefined {
  const text = typeof header === "string" ? header : header?.[0];
  return text !== undefined && /^\d{1,5}$/.test(text) ? Number(text) * 1_000 : undefined;
}
