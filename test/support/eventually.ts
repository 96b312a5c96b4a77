import { systemClock } from "../../internal/base/clock.ts";

/**
 * Waits until `probe` returns something other than undefined and false; looks every 10 ms. Throws after `timeoutMs`.
 */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = 30_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const seen = await probe();
    if (seen !== undefined && seen !== false) return seen;
    if (performance.now() > deadline) throw new Error(`never happened: ${what}`);
    await systemClock.sleep(10);
  }
}
