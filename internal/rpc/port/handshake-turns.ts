import type { Socket } from "node:net";
import type { Clock } from "../../base/clock.ts";

export interface HandshakeRate {
  /** So many may begin a second; the others wait for a turn. */
  readonly handshakesPerSecond: number;
  /** So many may begin at once after a quiet time. */
  readonly handshakeBurst: number;
}

/**
 * Lets handshakes begin at a bounded rate: each is work for a processor that the calls under way need, and whoever asks
 * for them pays next to nothing. When more come, each address has its turn after the others, and of one address the
 * newest: who still waits there for the oldest has given up more likely.
 */
export class HandshakeTurns {
  readonly #clock: Clock;
  readonly #rate: HandshakeRate;
  readonly #closed = new AbortController();
  /** By address, that whose turn is next first; what to call when it is, newest last. */
  readonly #waiting = new Map<string, Map<Socket, () => void>>();
  /** Whose turn was the last. */
  #last: string | undefined;
  #isGiving = false;
  #left: number;
  #leftAt: number;

  constructor(clock: Clock, rate: HandshakeRate) {
    this.#clock = clock;
    this.#rate = rate;
    this.#left = rate.handshakeBurst;
    this.#leftAt = clock.monotonicMs();
  }

  /** Calls `begin` when it is this connection's turn, which may be now; never if it has closed before. */
  add(socket: Socket, begin: () => void): void {
    if (this.#waiting.size === 0 && this.#mayBegin()) {
      begin();
      return;
    }
    const address = socket.remoteAddress ?? "";
    const line = this.#waiting.get(address) ?? new Map<Socket, () => void>();
    this.#waiting.set(address, line.set(socket, begin));
    socket.once("close", () => this.#remove(address, line, socket));
    if (!this.#isGiving) void this.#giveTurns();
  }

  /** Nobody begins any more; the connections of those who wait are cut. */
  close(): void {
    this.#closed.abort();
    for (const line of this.#waiting.values()) for (const socket of line.keys()) socket.destroy();
    this.#waiting.clear();
  }

  async #giveTurns(): Promise<void> {
    this.#isGiving = true;
    while (this.#waiting.size > 0 && !this.#closed.signal.aborted) {
      if (this.#mayBegin()) this.#next()?.();
      else await this.#clock.sleep(1000 / this.#rate.handshakesPerSecond, this.#closed.signal).catch(() => {});
    }
    this.#isGiving = false;
  }

  /**
   * The newest connection of the first address, which then moves to the end, after addresses that arrived meanwhile.
   */
  #next(): (() => void) | undefined {
    const [first, second] = this.#waiting;
    const chosen = first?.[0] === this.#last ? (second ?? first) : first;
    if (chosen === undefined) return undefined;
    const [address, line] = chosen;
    this.#last = address;
    const newest = [...line].at(-1);
    if (newest !== undefined) line.delete(newest[0]);
    this.#waiting.delete(address);
    if (line.size > 0) this.#waiting.set(address, line);
    return newest?.[1];
  }

  #remove(address: string, line: Map<Socket, () => void>, socket: Socket): void {
    line.delete(socket);
    if (line.size === 0 && this.#waiting.get(address) === line) this.#waiting.delete(address);
  }

  #mayBegin(): boolean {
    const { handshakesPerSecond, handshakeBurst } = this.#rate;
    const now = this.#clock.monotonicMs();
    this.#left = Math.min(handshakeBurst, this.#left + ((now - this.#leftAt) * handshakesPerSecond) / 1000);
    this.#leftAt = now;
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}
