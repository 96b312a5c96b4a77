import type { Socket } from "node:net";

/** Clients wait for each answer before they send the next request; what proxies pipeline is less than this. */
const MAX_UNANSWERED = 8;

/**
 * Counts the requests of each HTTP/1.1 connection that wait for their answers. Node takes every request that stands in
 * one read: 64 KiB hold a thousand of them, and all would begin before the next connection has its turn.
 */
export class Pipelines {
  readonly #unanswered = new WeakMap<Socket, number>();

  /**
   * A request has come over `socket`; `answer` closes when it is answered. False when too many wait there: the
   * connection is cut, and this request must not be answered.
   */
  admit(socket: Socket, answer: { once(event: "close", listener: () => void): unknown }): boolean {
    if (socket.destroyed) return false; // what stood behind the one that was too many
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
