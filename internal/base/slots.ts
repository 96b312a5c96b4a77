import { raceSignal } from "./abort.ts";

/** Runs async functions in the order of the calls, at most `count` at a time. */
export class Slots {
  #free: number;
  /** Called when a slot is free, in order. */
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** `signal` ends only the wait for a slot; `work` must observe it itself. */
  async hold<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await this.#turn(signal);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    try {
      await raceSignal(promise, signal);
    } catch (err) {
      const wasWaiting = this.#waiting.delete(resolve);
      if (!wasWaiting) this.#leave(); // the slot arrived just as the signal was aborted: pass it on
      throw err;
    }
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free++;
    else {
      this.#waiting.delete(next);
      next();
    }
  }
}
