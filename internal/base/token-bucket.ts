/** How often something may be done: a bucket of tokens, full at first, into which they come back at an even pace. */
export class TokenBucket {
  readonly #size: number;
  readonly #everyMs: number;
  #left: number;
  #at: number;

  /** `size` tokens, one more each `everyMs`; `now` as a monotonic clock says. */
  constructor(size: number, everyMs: number, now: number) {
    this.#size = size;
    this.#everyMs = everyMs;
    this.#left = size;
    this.#at = now;
  }

  /** How many tokens there are by now, and parts of one. Below 0: reserved. */
  fill(now: number): number {
    this.#left = Math.min(this.#size, this.#left + (now - this.#at) / this.#everyMs);
    this.#at = now;
    return this.#left;
  }

  /** Takes a token, or reserves one, but leaves at least `least`; how many are left. */
  take(least = Number.NEGATIVE_INFINITY): number {
    this.#left = Math.max(least, this.#left - 1);
    return this.#left;
  }
}
