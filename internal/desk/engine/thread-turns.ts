import { DomainError } from "../../base/errors.ts";
import { Serial } from "../../base/serial.ts";

/** The limits of threads and turns. */
export interface TurnCapacity {
  /** The most threads that are remembered, and likewise the most lasting threads, which are counted apart. */
  readonly threads: number;
  /** The most turns of one thread that wait behind the running one. */
  readonly queue: number;
}

/** A place in a thread's queue, until it is disposed of. */
export interface QueuedTurns extends Disposable {
  /** Runs a turn once those before it have ended. */
  inTurn<T>(turn: () => Promise<T>): Promise<T>;
}

interface Thread {
  readonly serial: Serial;
  places: number;
  /** Turns that wait or run; a turn may outlast its place. */
  turns: number;
  isLasting: boolean;
}

/**
 * Runs the turns of each thread one at a time, in order of arrival, and those of different threads side by side. Beyond
 * the limit the longest idle thread is forgotten. Lasting threads are counted apart, so that others never displace one.
 */
export class ThreadTurns {
  /** In the order in which they were last entered. */
  readonly #threads = new Map<string, Thread>();
  readonly #onForget: (name: string) => void;

  /** Calls `onForget` before a thread is forgotten; if it throws, the thread is kept. */
  constructor(onForget: (name: string) => void) {
    this.#onForget = onForget;
  }

  /** Adds a thread of an earlier run. Call it for each thread, the least recently used first. */
  know(name: string, isLasting: boolean): void {
    this.#threads.set(name, { serial: new Serial(), places: 0, turns: 0, isLasting });
  }

  /**
   * Takes a place in the thread's queue; `isLasting` makes the thread a lasting one.
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
