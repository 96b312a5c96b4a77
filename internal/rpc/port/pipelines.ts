import type { Socket } from "node:net";

/** Clients usually wait for a response before the next request; proxies pipeline fewer requests than this. */
const MAX_UNANSWERED = 8;

/**
 * Counts the unanswered requests of each HTTP/1.1 connection. Node accepts every request of one read: 64 KiB may
 * contain a thousand, and all would begin before another connection gets a turn.
 */
export class Pipelines {
  readonly #unanswered = new WeakMap<Socket, number>();

  /**
   * A request has arrived on `socket`; `answer` closes when it has been answered. Returns false if too many are
   * unanswered: the connection is cut, and this request must not be answered.
   */
  admit(socket: Socket, answer: { once(event: "close", listener: () => void): unknown }): boolean {
    if (socket.destroyed) return false; // follows the request that exceeded the limit
    const waiting = this.#unanswered.get(socket) ?? 0;
    if (waiting >= MAX_UNANSWERED) {
      socket.destroy();
      return false;
    }
    this.#unanswered.set(socket, waiting + 1);
    answer.once("close", () => this.#unanswered.set(socket, (this.#unanswered.get(socket) ?? 1) - 1));
    return true;
  }
}
