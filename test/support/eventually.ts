import { systemClock } from "../../internal/base/clock.ts";

const SOONEST_MS = 10;
const LATEST_MS = 100;

/**
 * The pause before the next look of a wait that has lasted `waitedMs`: a tenth of it, so that a long wait needs few
 * looks and ends at most 100 ms late.
 */
export function pauseAfter(waitedMs: number): number {
  return Math.min(LATEST_MS, Math.max(SOONEST_MS, waitedMs / 10));
}

/**
 * Waits until `probe` returns something other than undefined and false; looks again after 10 to 100 ms, with longer
 * pauses the longer it has waited. Throws after `timeoutMs`.
 */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = 30_000,
): Promise<T> {
  const begun = performance.now();
  for (;;) {
    const seen = await probe();
    if (seen !== undefined && seen !== false) return seen;
    const waitedMs = performance.now() - begun;
    if (waitedMs > timeoutMs) throw new Error(`never happened: ${what}`);
    await systemClock.sleep(pauseAfter(waitedMs));
  }
}
