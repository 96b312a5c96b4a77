import type { Socket } from "node:net";

/**
 * Bounds the number of connections that have not authenticated or shown their protocol yet. If there are more, the
 * oldest connection of the address with the most is cut: an honest client needs only milliseconds here, and one that
 * keeps connections open cannot lock out other addresses.
 */
export class HalfOpen {
  readonly #max: number;
  readonly #tell: (what: "cut" | "gone") => void;
  /** Sockets by address and then by port (at a unix socket, by the socket itself); the oldest first. */
  readonly #sockets = new Map<string, Map<number | Socket, Socket>>();
  #size = 0;

  /**
   * `tell` is called with `cut` when a connection was cut for a newer one, with `gone` when one closed before its
   * `done`.
   */
  constructor(max: number, tell: (what: "cut" | "gone") => void) {
    this.#max = max;
    this.#tell = tell;
  }

  get size(): number {
    return this.#size;
  }

  add(socket: Socket): void {
    const [address, port] = placeOf(socket);
    const there = this.#sockets.get(address) ?? new Map<number | Socket, Socket>();
    this.#sockets.set(address, there.set(port, socket));
    this.#size++;
    socket.once("close", () => {
      if (this.#sockets.get(address)?.get(port) === socket && this.#remove(address, port)) this.#tell("gone");
    });
    if (this.#size > this.#max) this.#cutOne();
  }

  /** `socket`: one that was added, or a TLS socket that wraps one. */
  done(socket: Socket): void {
    this.#remove(...placeOf(socket));
  }

  #remove(address: string, port: number | Socket): boolean {
    const there = this.#sockets.get(address);
    if (there?.delete(port) !== true) return false;
    if (there.size === 0) this.#sockets.delete(address);
    this.#size--;
    return true;
  }

  #cutOne(): void {
    let [most] = this.#sockets;
    for (const each of this.#sockets) if (most === undefined || each[1].size > most[1].size) most = each;
    const [oldest] = most?.[1] ?? [];
    if (most === undefined || oldest === undefined) return;
    this.#remove(most[0], oldest[0]);
    this.#tell("cut");
    oldest[1].destroy();
  }
}

/** Unique among the connections to one port. Those at a unix socket have neither address nor port. */
function placeOf(socket: Socket): [address: string, port: number | Socket] {
  const { remoteAddress = "", remotePort = socket } = socket;
  return [remoteAddress, remotePort];
}
