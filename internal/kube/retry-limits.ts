import type { Clock } from "../base/clock.ts";

/**
 * client-go's `DefaultTypedControllerRateLimiter`: 5 ms × 2ⁿ up to 1,000 s for each key, and 10 a second with a burst
 * of 100 for all.
 */
const ITEM = { firstMs: 5, maxMs: 1_000_000 };
const BUCKET = { perSecond: 10, burst: 100 };

/** When a key that failed is tried again. */
export class RetryLimits {
  readonly #clock: Clock;
  readonly #failures = new Map<string, number>();
  /** Tokens left; below 0: reserved by keys that wait for them. */
  #tokens = BUCKET.burst;
  #filledAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#filledAt = clock.monotonicMs();
  }

  /** Counts a failure; how long its key waits. */
  delayMs(key: string): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    return Math.max(Math.min(ITEM.maxMs, ITEM.firstMs * 2 ** failures), this.#reserve());
  }

  /** The key is well: its next failure counts as the first. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  #reserve(): number {
    const now = this.#clock.monotonicMs();
    this.#tokens = Math.min(BUCKET.burst, this.#tokens + ((now - this.#filledAt) * BUCKET.perSecond) / 1_000);
    this.#filledAt = now;
    this.#tokens--;
    return this.#tokens >= 0 ? 0 : (-this.#tokens * 1_000) / BUCKET.perSecond;
  }
}
