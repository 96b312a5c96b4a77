/** A rate limit: a bucket of tokens that is full at first and refills at an even pace. */
export class TokenBucket {
  readonly #size: number;
  readonly #everyMs: number;
  #left: number;
  #at: number;

  /** `size`: tokens in a full bucket; one more comes each `everyMs`. `now`: monotonic, ms. */
  constructor(size: number, everyMs: number, now: number) {
    this.#size = size;
    this.#everyMs = everyMs;
    this.#left = size;
    this.#at = now;
  }

  /** The tokens at `now`, fractions included. Below 0: that many are reserved. */
  fill(now: number): number {
    this.#left = Math.min(this.#size, this.#left + (now - this.#at) / this.#everyMs);
    this.#at = now;
    return this.#left;
  }

  /** Takes a token, or reserves one, but leaves at least `least`; returns the tokens left. */
  take(least = Number.NEGATIVE_INFINITY): number {
    this.#left = Math.max(least, this.#left - 1);
    return this.#left;
  }
}
