import { type BackoffOptions, backoffStepMs } from "../base/backoff.ts";
import type { Clock } from "../base/clock.ts";

export interface RetryDelayOptions extends BackoffOptions {
  /** A failure after this long without one counts as the first. */
  readonly resetMs: number;
}

/** Exponential delays between attempts, each between its step and twice the step, so that callers spread out. */
export class RetryDelay {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #options: RetryDelayOptions;
  #failures = 0;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: { readonly clock: Clock; readonly random: () => number }, options: RetryDelayOptions) {
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#options = options;
  }

  /** No failure has occurred for `resetMs`. */
  get isFresh(): boolean {
    return this.#clock.monotonicMs() - this.#failedAt >= this.#options.resetMs;
  }

  /** Counts a failure; returns how long to wait, ms, at most `maxMs`. */
  next(): number {
    if (this.isFresh) this.#failures = 0;
    const stepMs = backoffStepMs(this.#options, this.#failures++);
    const delayMs = Math.min(this.#options.maxMs, stepMs * (1 + this.#random()));
    this.#failedAt = this.#clock.monotonicMs() + delayMs;
    return delayMs;
  }
}
