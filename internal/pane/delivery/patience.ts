import type { Clock } from "../../base/clock.ts";

/** A process that gets no core for a while sees nothing of that time: only so many looks show what became of it. */
const LEAST_LOOKS = 10;

/**
 * How long something is looked for. It ends with its time, and not before it was looked for often enough: what happened
 * while this process stood still may come here a moment after it goes on.
 */
export class Patience {
  readonly #clock: Clock;
  readonly #ms: number;
  #end: number;
  #looks = 0;

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.#ms = ms;
    this.#end = clock.monotonicMs() + ms;
  }

  /** It was seen: from now on all of the time again. */
  renew(): void {
    this.#end = this.#clock.monotonicMs() + this.#ms;
    this.#looks = 0;
  }

  /** To be asked once after each look. */
  isOver(): boolean {
    this.#looks++;
    return this.#looks >= LEAST_LOOKS && this.#clock.monotonicMs() >= this.#end;
  }
}
