import { DomainError } from "../../base/errors.ts";

/** The most open calls of users. The server accepts three times as many, so that the bridge's calls always fit. */
const MAX_OPEN = 1024;
/** The most bytes of answers in all open calls: callers may not read them. Each byte takes four in memory. */
const MAX_WAITING_BYTES = 24 * 1024 * 1024;
/** How long an unread answer is kept after its turn's end. */
export const STALL_LIMIT_MS = 60_000;

/** Limits the number and the memory of all open calls of users. */
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
  /** Counts a text until the call ends. False: there is no room for the text. */
  hold(text: string): boolean;
}
