const MOST = 20;
const WITHIN_MS = 60_000;

/** Counts an agent's invalid frames. */
export class InvalidFrames {
  #times: readonly number[] = [];

  /** Counts a frame at `nowMs` (monotonic). True: the last minute has 20 or more. */
  add(nowMs: number): boolean {
    this.#times = [...this.#times.filter((time) => nowMs - time < WITHIN_MS), nowMs];
    return this.#times.length >= MOST;
  }
}
