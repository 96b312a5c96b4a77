import type { Clock } from "../../base/clock.ts";

/** Streams that lived longer than this cost more to keep than to open: their end is no flood. */
export const YOUNG_STREAM_MS = 1000;
/** So often at once, and then so often a second. */
const BURST = 256;
const PER_SECOND = 50;
/** Full ones are forgotten when there are more. */
const KEPT = 1024;

/**
 * How often a caller may do what costs us more than it: open streams and reset them at once ("rapid reset"), or call
 * with credentials that do not count. Of all its connections together: a new one brings no new budget.
 */
export class CallerBudget {
  readonly #clock: Clock;
  readonly #shares = new Map<string, { left: number; at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes one; false when there was none left. */
  take(share: string): boolean {
    const now = this.#clock.monotonicMs();
    const budget = this.#shares.get(share) ?? { left: BURST, at: now };
    budget.left = leftAt(budget, now);
    budget.at = now;
    this.#shares.set(share, budget);
    if (this.#shares.size > KEPT) this.#forgetFull(now);
    if (budget.left < 1) return false;
    budget.left--;
    return true;
  }

  /** Whether one could be taken. */
  has(share: string): boolean {
    const budget = this.#shares.get(share);
    return budget === undefined || leftAt(budget, this.#clock.monotonicMs()) >= 1;
  }

  #forgetFull(now: number): void {
    for (const [share, budget] of this.#shares) if (leftAt(budget, now) >= BURST) this.#shares.delete(share);
  }
}

function leftAt({ left, at }: { readonly left: number; readonly at: number }, now: number): number {
  return Math.min(BURST, left + ((now - at) * PER_SECOND) / 1000);
}
