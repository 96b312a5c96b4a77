import type { Clock } from "../../base/clock.ts";

/**
 * A process without a processor for a while sees nothing of that time: it takes this many looks to see what happened.
 */
const LEAST_LOOKS = 10;

/**
 * How long to look for something. It ends after its time, but not before enough looks: events from a time when this
 * process stood still may arrive a moment after it continues.
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

  /** The sought thing was seen: starts the whole time again. */
  renew(): void {
    this.#end = this.#clock.monotonicMs() + this.#ms;
    this.#looks = 0;
  }

  /** Call it once after each look. */
  isOver(): boolean {
    this.#looks++;
    return this.#looks >= LEAST_LOOKS && this.#clock.monotonicMs() >= this.#end;
  }
}
