import type { WatchRequest } from "./types.ts";

/** The data of an update without bytes. */
export const NO_BYTES = new Uint8Array(0);
const DEFAULT_INTERVAL_MS = 100;
const MIN_INTERVAL_MS = 10;

/** Least time between two updates, ms. */
export function intervalOf(request: WatchRequest): number {
  return request.intervalMs <= 0 ? DEFAULT_INTERVAL_MS : Math.max(MIN_INTERVAL_MS, request.intervalMs);
}
