import type { WebSocket } from "ws";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import { ChannelEnd } from "../links/channel-end.ts";
import type { FrameChannel } from "../links/frame-channel.ts";

export interface WebSocketLimits {
  readonly pingIntervalMs: number;
  readonly pongTimeoutMs: number;
}

const CLOSE = { noText: 1003, tooLarge: 1009, noPong: 4408, slow: 1013 } as const;
/** What may wait to be written before the reader counts as slow. */
const SLOW_BYTES = 4 * 1024 * 1024;
/** Twice this long without having read: the seed's "retry once, then disconnect". */
const WRITE_MS = 10_000;
/** For the peer's answer to a close. */
const CLOSING_MS = 2000;

/** The frames of a WebSocket, with its heartbeat. */
export class WebSocketChannel implements FrameChannel {
  onFrame: (text: string) => void = () => {};
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #ended = new AbortController();
  #end: ChannelEnd | undefined;
  #isWatching = false;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }, socket: WebSocket) {
    this.#clock = clock;
    this.#logger = logger;
    this.#socket = socket;
    socket.on("message", (data, isBinary) => {
      if (isBinary) return this.#cut(CLOSE.noText, "binary");
      if (this.#end === undefined) this.onFrame(data.toString());
    });
    socket.on("error", (err: NodeJS.ErrnoException) => {
      const isTooLarge = err.code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH";
      this.#end ??= isTooLarge ? new ChannelEnd(CLOSE.tooLarge, "too large") : new ChannelEnd(1006, "broken");
    });
    socket.on("close", (code, reason) => {
      const why = reason.length > 0 ? reason.toString().slice(0, 100) : code === 1006 ? "cut" : "closed";
      this.#end ??= new ChannelEnd(code, why);
      this.#ended.abort(this.#end);
    });
  }

  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  send(text: string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.send(text);
    if (this.#socket.bufferedAmount > SLOW_BYTES && !this.#isWatching) void this.#watchSlow();
  }

  close(code: number, reason: string): void {
    this.#cut(code, reason);
  }

  /** Sends pings until the end; without a pong in time the connection is cut. */
  async keepAlive({ pingIntervalMs, pongTimeoutMs }: WebSocketLimits): Promise<void> {
    const { signal } = this.#ended;
    try {
      for (;;) {
        await this.#clock.sleep(pingIntervalMs, signal);
        const pong = new Promise<true>((resolve) => this.#socket.once("pong", () => resolve(true)));
        this.#socket.ping();
        const silence = new AbortController();
        const late = this.#clock.sleep(pongTimeoutMs, AbortSignal.any([signal, silence.signal])).then(() => false);
        late.catch(() => {});
        const isAlive = await Promise.race([pong, late]);
        silence.abort();
        if (isAlive) continue;
        this.#end ??= new ChannelEnd(CLOSE.noPong, "no pong");
        this.#socket.terminate();
        return;
      }
    } catch {
      // It has ended.
    }
  }

  #cut(code: number, reason: string): void {
    if (this.#end === undefined) this.#end = new ChannelEnd(code, reason);
    this.#socket.close(code, reason);
    const left = this.#clock.sleep(CLOSING_MS, this.#ended.signal);
    left.then(
      () => this.#socket.terminate(),
      () => {},
    );
  }

  async #watchSlow(): Promise<void> {
    this.#isWatching = true;
    try {
      for (let round = 1; this.#socket.bufferedAmount > SLOW_BYTES; round++) {
        await this.#clock.sleep(WRITE_MS, this.#ended.signal);
        if (this.#socket.bufferedAmount <= SLOW_BYTES) return;
        this.#logger.warn(
          { action: "slow_reader", round, bytes: this.#socket.bufferedAmount },
          "an agent does not read",
        );
        if (round < 2) continue;
        this.#end ??= new ChannelEnd(CLOSE.slow, "does not read");
        this.#socket.terminate();
        return;
      }
    } catch {
      // It has ended.
    } finally {
      this.#isWatching = false;
    }
  }
}
