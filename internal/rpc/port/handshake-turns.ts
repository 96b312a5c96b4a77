import type { Socket } from "node:net";
import type { Clock } from "../../base/clock.ts";
import { TokenBucket } from "../../base/token-bucket.ts";

export interface HandshakeRate {
  /** The most handshakes to begin per second; further ones wait for a turn. */
  readonly handshakesPerSecond: number;
  /** The most handshakes to begin at once after a quiet period. */
  readonly handshakeBurst: number;
}

/**
 * Limits the rate of handshakes: each takes CPU that calls in progress need, and costs the client next to nothing. When
 * many arrive, addresses take turns, and each address's newest connection comes first: the client of an older one has
 * more likely given up.
 */
export class HandshakeTurns {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #bucket: TokenBucket;
  readonly #closed = new AbortController();
  /** Callbacks by address, the newest last; the address whose turn is next comes first. */
  readonly #waiting = new Map<string, Map<Socket, () => void>>();
  /** The address that had the last turn. */
  #last: string | undefined;
  #isGiving = false;

  constructor(clock: Clock, { handshakesPerSecond, handshakeBurst }: HandshakeRate) {
    this.#clock = clock;
    this.#everyMs = 1000 / handshakesPerSecond;
    this.#bucket = new TokenBucket(handshakeBurst, this.#everyMs, clock.monotonicMs());
  }

  /** Calls `begin` when it is this connection's turn, possibly at once; never if it closes first. */
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

  /** Begins no further handshakes; cuts the waiting connections. */
  close(): void {
    this.#closed.abort();
    for (const line of this.#waiting.values()) for (const socket of line.keys()) socket.destroy();
    this.#waiting.clear();
  }

  async #giveTurns(): Promise<void> {
    this.#isGiving = true;
    while (this.#waiting.size > 0 && !this.#closed.signal.aborted) {
      if (this.#mayBegin()) this.#next()?.();
      else await this.#clock.sleep(this.#everyMs, this.#closed.signal).catch(() => {});
    }
    this.#isGiving = false;
  }

  /**
   * Takes the newest connection of the first address, which then moves to the end, after addresses that arrived
   * meanwhile.
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
    if (this.#bucket.fill(this.#clock.monotonicMs()) < 1) return false;
    this.#bucket.take();
    return true;
  }
}
