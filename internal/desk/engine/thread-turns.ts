import { DomainError } from "../../base/errors.ts";
import { Serial } from "../../base/serial.ts";

/** How many turns there may be at a time. */
export interface TurnCapacity {
  /** Threads that are remembered, and as many lasting ones. */
  readonly threads: number;
  /** Turns of one thread that may wait behind the one that runs. */
  readonly queue: number;
}

/** A place in a thread's queue, until it is disposed of. */
export interface QueuedTurns extends Disposable {
  /** Runs a turn when its time has come. */
  inTurn<T>(turn: () => Promise<T>): Promise<T>;
}

interface Thread {
  readonly serial: Serial;
  places: number;
  /** Turns that wait or run: one may outlast its place. */
  turns: number;
  isLasting: boolean;
}

/**
 * Turns of threads: one at a time in each, in the order in which they came, side by side in different ones. Beyond the
 * limit the thread idle longest is forgotten; lasting threads are counted apart, so that others never displace one.
 */
export class ThreadTurns {
  /** The one entered last is the last. */
  readonly #threads = new Map<string, Thread>();
  readonly #onForget: (name: string) => void;

  /** `onForget` is called before a thread is forgotten; what it throws keeps the thread. */
  constructor(onForget: (name: string) => void) {
    this.#onForget = onForget;
  }

  /** Counts a thread that is known from before, the one used last at the end. */
  know(name: string, isLasting: boolean): void {
    this.#threads.set(name, { serial: new Serial(), places: 0, turns: 0, isLasting });
  }

  /**
   * Takes a place in the thread's queue; `isLasting` makes it a lasting one.
   * @throws DomainError `exhausted` (`reason` is `busy`) when its queue is full, or all other threads are in a turn
   */
  enter(name: string, limits: TurnCapacity, isLasting = false): QueuedTurns {
    const known = this.#threads.get(name);
    if (known !== undefined && known.places > limits.queue) throw busy("too many turns of this thread are waiting");
    if (known === undefined || (isLasting && !known.isLasting)) this.#makeRoom(limits.threads, isLasting);
    const thread = known ?? { serial: new Serial(), places: 0, turns: 0, isLasting };
    thread.isLasting ||= isLasting;
    this.#threads.delete(name);
    this.#threads.set(name, thread);
    return placeIn(thread);
  }

  #makeRoom(limit: number, isLasting: boolean): void {
    const alike = [...this.#threads].filter(([, thread]) => thread.isLasting === isLasting);
    const idle = alike.filter(([, { places, turns }]) => places + turns === 0);
    const surplus = alike.length - limit + 1;
    if (surplus > idle.length) throw busy("all threads are in a turn");
    for (const [name] of idle.slice(0, Math.max(surplus, 0))) {
      this.#onForget(name);
      this.#threads.delete(name);
    }
  }
}

function placeIn(thread: Thread): QueuedTurns {
  thread.places++;
  let isHeld = true;
  return {
    async inTurn(turn) {
      thread.turns++;
      try {
        return await thread.serial.inTurn(turn);
      } finally {
        thread.turns--;
      }
    },
    [Symbol.dispose]() {
      if (isHeld) thread.places--;
      isHeld = false;
    },
  };
}

function busy(message: string): DomainError {
  return new DomainError("exhausted", message, { fields: { reason: "busy" } });
}
