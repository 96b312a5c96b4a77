import type { Socket } from "node:net";

/**
 * Connections whose other end has not said yet who it is, or what it speaks. There may be so many of them; one more and
 * the oldest is cut: who means it needs milliseconds, who holds them open holds no others out.
 */
export class HalfOpen {
  readonly #max: number;
  readonly #onCut: () => void;
  /** Oldest first. */
  readonly #sockets = new Map<string, Socket>();

  constructor(max: number, onCut: () => void) {
    this.#max = max;
    this.#onCut = onCut;
  }

  get size(): number {
    return this.#sockets.size;
  }

  add(socket: Socket): void {
    const key = keyOf(socket);
    this.#sockets.set(key, socket);
    socket.once("close", () => {
      if (this.#sockets.get(key) === socket) this.#sockets.delete(key);
    });
    const [oldest] = this.#sockets;
    if (this.#sockets.size <= this.#max || oldest === undefined) return;
    this.#sockets.delete(oldest[0]);
    this.#onCut();
    oldest[1].destroy();
  }

  /** `socket` or one that wraps it, as TLS does. */
  done(socket: Socket): boolean {
    return this.#sockets.delete(keyOf(socket));
  }
}

/** Of all connections to one port no two have the same. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
