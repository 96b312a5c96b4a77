import type { Clock } from "../../base/clock.ts";
import { TokenBucket } from "../../base/token-bucket.ts";

/**
 * The reset of a stream that was open for longer does not count as part of a flood: the stream cost more to keep than
 * to open.
 */
export const YOUNG_STREAM_MS = 1000;
const BURST = 256;
const PER_SECOND = 50;
/** If there are more buckets than this, full ones are dropped. */
const KEPT = 1024;

/**
 * Limits operations that cost us more than they cost the caller: opening streams and resetting them at once ("rapid
 * reset"), or calling with invalid credentials. The budget is shared by all connections of a caller: a new connection
 * brings no new budget.
 */
export class CallerBudget {
  readonly #clock: Clock;
  readonly #shares = new Map<string, TokenBucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes one unit; false if none is left. */
  take(share: string): boolean {
    const now = this.#clock.monotonicMs();
    const budget = this.#shares.get(share) ?? new TokenBucket(BURST, 1000 / PER_SECOND, now);
    this.#shares.set(share, budget);
    if (this.#shares.size > KEPT) this.#forgetFull(now);
    if (budget.fill(now) < 1) return false;
    budget.take();
    return true;
  }

  /** True if a unit is available. */
  has(share: string): boolean {
    return (this.#shares.get(share)?.fill(this.#clock.monotonicMs()) ?? BURST) >= 1;
  }

  #forgetFull(now: number): void {
    for (const [share, budget] of this.#shares) if (budget.fill(now) >= BURST) this.#shares.delete(share);
  }
}
