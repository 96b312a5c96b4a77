import type { Clock } from "../../base/clock.ts";

/** A process that was not scheduled for a while needs this many looks to see what happened meanwhile. */
const LEAST_LOOKS = 10;

/**
 * Limits how long to look for something. It is over when its time has passed, but not before LEAST_LOOKS looks: events
 * from a time when this process was stopped may arrive a moment after it continues.
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

  /** Restarts the time and the count of looks. */
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
