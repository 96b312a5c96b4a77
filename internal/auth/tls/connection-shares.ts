import type { Socket } from "node:net";

/**
 * Limits the connections of a port without authentication to `max`. When there are more, the oldest connection of the
 * address that has the most is closed, so that callers at one address cannot lock out those at another.
 */
export class ConnectionShares {
  readonly #max: number;
  /** Open connections by address, the oldest first. */
  readonly #open = new Map<string, Set<Socket>>();
  #count = 0;

  constructor(max: number) {
    this.#max = max;
  }

  add(socket: Socket): void {
    if (this.#count >= this.#max) this.#makeRoom();
    const address = socket.remoteAddress ?? "";
    const own = this.#open.get(address) ?? new Set();
    this.#open.set(address, own.add(socket));
    this.#count++;
    socket.once("close", () => this.#remove(address, socket));
  }

  #makeRoom(): void {
    const [address, most] = [...this.#open].reduce((a, b) => (b[1].size > a[1].size ? b : a));
    const [oldest] = most;
    if (oldest === undefined) return;
    this.#remove(address, oldest);
    oldest.destroy();
  }

  #remove(address: string, socket: Socket): void {
    const own = this.#open.get(address);
    if (own?.delete(socket) !== true) return;
    this.#count--;
    if (own.size === 0) this.#open.delete(address);
  }
}
