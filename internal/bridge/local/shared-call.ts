import { setImmediate } from "node:timers/promises";
import { raceSignal } from "../../base/abort.ts";

interface Batch<T> {
  readonly answer: Promise<T>;
  readonly stop: AbortController;
  waiting: number;
}

/** One call for all callers at the same moment; each answer was requested after its caller asked. */
export class SharedCall<T> {
  readonly #call: (signal: AbortSignal) => Promise<T>;
  /** Not begun yet. */
  #next: Batch<T> | undefined;

  /** The signal of `call` aborts when no caller is waiting any more. */
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
    answer.catch(() => {}); // those who wait hear of it
    const batch: Batch<T> = { answer, stop, waiting: 0 };
    this.#next = batch;
    return batch;
  }
}
