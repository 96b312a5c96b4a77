import type { Clock } from "../../base/clock.ts";

/** A stream that lived longer cost more to keep than to open: its reset does not count as part of a flood. */
export const YOUNG_STREAM_MS = 1000;
/** The size of the burst; the bucket is then refilled at PER_SECOND. */
const BURST = 256;
const PER_SECOND = 50;
/** Beyond this number, full buckets are dropped. */
const KEPT = 1024;

/**
 * Limits operations that cost us more than the caller: opening streams and resetting them at once ("rapid reset"), or
 * calling with invalid credentials. The budget is shared by all connections of a caller: a new connection brings no new
 * budget.
 */
export class CallerBudget {
  readonly #clock: Clock;
  readonly #shares = new Map<string, { left: number; at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes one unit; false if none is left. */
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

  /** A unit is available. */
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
