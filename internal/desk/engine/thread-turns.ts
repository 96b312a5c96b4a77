import { DomainError } from "../../base/errors.ts";
import { Serial } from "../../base/serial.ts";

/** How many turns there may be at a time. */
export interface TurnLimits {
  /** Threads there may be. */
  readonly threads: number;
  /** Turns of one thread that may wait behind the one that runs. */
  readonly queue: number;
}

/** A place in a thread's queue, until it is disposed of. */
export interface Place extends Disposable {
  /** Runs a turn when its time has come. */
  run<T>(turn: () => Promise<T>): Promise<T>;
}

/** Turns of threads: one at a time in each, in the order in which they came, side by side in different ones. */
export class ThreadTurns {
  readonly #threads = new Map<string, { readonly serial: Serial; places: number }>();

  /** Counts a thread that is known from before. */
  know(thread: string): void {
    if (!this.#threads.has(thread)) this.#threads.set(thread, { serial: new Serial(), places: 0 });
  }

  /** Takes a place in the thread's queue. @throws DomainError `exhausted` (`reason` is `busy`) beyond the limits */
  enter(name: string, limits: TurnLimits): Place {
    if (!this.#threads.has(name) && this.#threads.size >= limits.threads) throw busy("too many threads");
    this.know(name);
    const thread = this.#threads.get(name);
    if (thread === undefined || thread.places > limits.queue) throw busy("too many turns of this thread are waiting");
    thread.places++;
    let isHeld = true;
    return {
      run: (turn) => thread.serial.run(turn),
      [Symbol.dispose]() {
        if (isHeld) thread.places--;
        isHeld = false;
      },
    };
  }
}

function busy(message: string): DomainError {
  return new DomainError("exhausted", message, { fields: { reason: "busy" } });
}
