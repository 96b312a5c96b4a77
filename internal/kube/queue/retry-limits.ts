import { backoffStepMs } from "../../base/backoff.ts";
import type { Clock } from "../../base/clock.ts";
import { TokenBucket } from "../../base/token-bucket.ts";

/**
 * As client-go's `DefaultTypedControllerRateLimiter`: 5 ms × 2ⁿ up to 1,000 s for each key, and 10 a second with a
 * burst of 100 in total. Here, the totals apply to each group.
 */
const ITEM = { firstMs: 5, maxMs: 1_000_000, factor: 2 };
const BUCKET = { everyMs: 100, burst: 100 };

/** Decides when a failed key is retried. */
export class RetryLimits {
  readonly #clock: Clock;
  readonly #failures = new Map<string, number>();
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a failure; returns how long to wait before the retry, ms. */
  delayMs(key: string, group: string): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    return Math.max(backoffStepMs(ITEM, failures), this.#reserve(group));
  }

  /** Resets the key after a success: its next failure counts as the first. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  #reserve(group: string): number {
    const now = this.#clock.monotonicMs();
    const bucket = this.#buckets.get(group) ?? new TokenBucket(BUCKET.burst, BUCKET.everyMs, now);
    this.#buckets.set(group, bucket);
    bucket.fill(now);
    const left = bucket.take(-ITEM.maxMs / BUCKET.everyMs); // below 0: reserved by keys that are waiting
    return left >= 0 ? 0 : -left * BUCKET.everyMs;
  }
}
