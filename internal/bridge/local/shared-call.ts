import { setImmediate } from "node:timers/promises";
import { raceSignal } from "../../base/abort.ts";

interface Batch<T> {
  readonly answer: Promise<T>;
  readonly stop: AbortController;
  waiting: number;
}

/** Makes one call for all callers of one turn of the event loop; the call starts after each of them has asked. */
export class SharedCall<T> {
  readonly #call: (signal: AbortSignal) => Promise<T>;
  /** The batch whose call has not started. */
  #next: Batch<T> | undefined;

  /** The signal of `call` is aborted when no caller waits any more. */
  constructor(call: (signal: AbortSignal) => Promise<T>) {
    this.#call = call;
  }

  async ask(signal: AbortSignal): Promise<T> {
    const batch = this.#next ?? this.#begin();
    batch.waiting++;
    try {
      return await raceSignal(batch.answer, signal);
    } finally {
      if (--batch.waiting === 0) {
        batch.stop.abort();
        if (this.#next === batch) this.#next = undefined;
      }
    }
  }

  #begin(): Batch<T> {
    const stop = new AbortController();
    const answer = setImmediate().then(() => {
      if (this.#next === batch) this.#next = undefined;
      return this.#call(stop.signal);
    });
    answer.catch(() => {}); // waiting callers handle it
    const batch: Batch<T> = { answer, stop, waiting: 0 };
    this.#next = batch;
    return batch;
  }
}
