import type { Socket } from "node:net";

/**
 * Connections whose other end has not said yet who it is, or what it speaks. There may be so many of them; one more and
 * the oldest is cut: who means it needs milliseconds, who holds them open holds no others out.
 */
export class HalfOpen {
  readonly #max: number;
  readonly #tell: (what: "cut" | "gone") => void;
  /** Oldest first. */
  readonly #sockets = new Map<string, Socket>();

  /** `tell`: one was cut for a newer one, or has gone (or was sent away) before it was done. */
  constructor(max: number, tell: (what: "cut" | "gone") => void) {
    this.#max = max;
    this.#tell = tell;
  }

  get size(): number {
    return this.#sockets.size;
  }

  add(socket: Socket): void {
    const key = keyOf(socket);
    this.#sockets.set(key, socket);
    socket.once("close", () => {
      if (this.#sockets.get(key) !== socket) return;
      this.#sockets.delete(key);
      this.#tell("gone");
    });
    const [oldest] = this.#sockets;
    if (this.#sockets.size <= this.#max || oldest === undefined) return;
    this.#sockets.delete(oldest[0]);
    this.#tell("cut");
    oldest[1].destroy();
  }

  /** `socket` or one that wraps it, as TLS does. */
  done(socket: Socket): void {
    this.#sockets.delete(keyOf(socket));
  }
}

/** Of all connections to one port no two have the same. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
