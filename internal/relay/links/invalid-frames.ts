const MOST = 20;
const WITHIN_MS = 60_000;

/** Counts what an agent sends that is no valid frame. */
export class InvalidFrames {
  #times: readonly number[] = [];

  /** One more, at `nowMs` (monotonic). True: it is the twentieth within a minute. */
  add(nowMs: number): boolean {
    this.#times = [...this.#times.filter((time) => nowMs - time < WITHIN_MS), nowMs];
    return this.#times.length >= MOST;
  }
}
