import { DomainError } from "../../base/errors.ts";

/** Users' calls that are open at a time. The server takes three times as many: the bridge always has a place. */
const MAX_OPEN = 1024;
/** Bytes that may wait in answers that their callers do not take: in memory each takes four times as much. */
const MAX_WAITING_BYTES = 24 * 1024 * 1024;
/** How long an answer may wait after its turn's end. */
export const STALL_LIMIT_MS = 60_000;

/** Bounds what users' open calls take from the front together. */
export class SayBounds {
  #open = 0;
  #waiting = 0;

  /** Counts a call until it is disposed of. @throws DomainError `exhausted` (`reason` is `busy`) */
  enter(): SayCall {
    if (this.#open >= MAX_OPEN) throw new DomainError("exhausted", "too many calls", { fields: { reason: "busy" } });
    this.#open++;
    let held = 0;
    return {
      hold: (text) => {
        const bytes = Buffer.byteLength(text);
        if (this.#waiting + bytes > MAX_WAITING_BYTES) return false;
        this.#waiting += bytes;
        held += bytes;
        return true;
      },
      [Symbol.dispose]: () => {
        this.#open--;
        this.#waiting -= held;
      },
    };
  }
}

interface SayCall extends Disposable {
  /** Counts a text until the call's end; false: there is no room for it. */
  hold(text: string): boolean;
}
