import type { Clock } from "../../base/clock.ts";

/**
 * client-go's `DefaultTypedControllerRateLimiter`: 5 ms × 2ⁿ up to 1,000 s for each key, and 10 a second with a burst
 * of 100 for all; here for all of one group.
 */
const ITEM = { firstMs: 5, maxMs: 1_000_000 };
const BUCKET = { perSecond: 10, burst: 100 };

/** Of one group. */
interface Bucket {
  /** Tokens left; below 0: reserved by keys that wait for them. */
  tokens: number;
  filledAt: number;
}

/** When a key that failed is tried again. */
export class RetryLimits {
  readonly #clock: Clock;
  readonly #failures = new Map<string, number>();
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a failure; how long its key waits. */
  delayMs(key: string, group: string): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    return Math.max(Math.min(ITEM.maxMs, ITEM.firstMs * 2 ** failures), this.#reserve(group));
  }

  /** The key is well: its next failure counts as the first. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  #reserve(group: string): number {
    const now = this.#clock.monotonicMs();
    const bucket = this.#buckets.get(group) ?? { tokens: BUCKET.burst, filledAt: now };
    this.#buckets.set(group, bucket);
    bucket.tokens = Math.min(BUCKET.burst, bucket.tokens + ((now - bucket.filledAt) * BUCKET.perSecond) / 1_000);
    bucket.filledAt = now;
    bucket.tokens = Math.max(bucket.tokens - 1, (-ITEM.maxMs * BUCKET.perSecond) / 1_000);
    return bucket.tokens >= 0 ? 0 : (-bucket.tokens * 1_000) / BUCKET.perSecond;
  }
}
