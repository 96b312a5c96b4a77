import type { WebSocket } from "ws";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { RelayMetrics } from "../lanes/relay-metrics.ts";
import { ChannelEnd, FRAME_TOO_LARGE } from "../links/channel-end.ts";
import type { FrameChannel } from "../links/frame-channel.ts";
import { answersPing } from "./answers-ping.ts";
import { type FrameRate, RATE_LIMITED } from "./frame-rates.ts";

export interface WebSocketLimits {
  readonly pingIntervalMs: number;
  readonly pongTimeoutMs: number;
}

export interface WebSocketChannelDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<RelayMetrics, "slowReaders">;
}

const CLOSE = { noText: 1003, noPong: 4408, slow: 1013 } as const;
/** The peer counts as slow while more than this is unsent, in bytes. */
const SLOW_BYTES = 4 * 1024 * 1024;
/**
 * After this long a slow peer is logged, after twice as long the connection ends: the seed's "retry once, then
 * disconnect".
 */
const WRITE_MS = 10_000;
const LOOK_MS = 250;
const LEAST_REST_MS = 50;
/** The longest wait for the peer's response to a close. */
const CLOSING_MS = 2000;

/** Carries the frames of a WebSocket, with a heartbeat. Stops reading a peer that does not read. */
export class WebSocketChannel implements FrameChannel {
  onFrame: (text: string) => void = () => {};
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #metrics: WebSocketChannelDeps["metrics"];
  readonly #ended = new AbortController();
  #end: ChannelEnd | undefined;
  /** The reasons why the peer is not being read. */
  readonly #holds = new Set<"asked" | "slow" | "fast">();
  readonly #rate: FrameRate;
  #wasFast = false;
  #wasHeld = false;

  constructor({ clock, logger, metrics }: WebSocketChannelDeps, socket: WebSocket, rate: FrameRate) {
    this.#clock = clock;
    this.#logger = logger;
    this.#metrics = metrics;
    this.#socket = socket;
    this.#rate = rate;
    socket.on("ping", () => this.#count()); // the library sends the pong
    socket.on("message", (data, isBinary) => {
      this.#count();
      if (isBinary) return this.#cut(CLOSE.noText, "binary");
      if (this.#end === undefined) this.onFrame(data.toString());
    });
    socket.on("error", (err: NodeJS.ErrnoException) => {
      const isTooLarge = err.code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH";
      this.#end ??= isTooLarge ? new ChannelEnd(FRAME_TOO_LARGE, "too large") : new ChannelEnd(1006, "broken");
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
    this.#lookSlow();
  }

  #lookSlow(): void {
    if (this.#socket.bufferedAmount > SLOW_BYTES && !this.#holds.has("slow")) void this.#watchSlow();
  }

  /** Counts a received frame or ping. */
  #count(): void {
    this.#lookSlow();
    this.#rate.count();
    if (this.#end === undefined && this.#rate.isTooFast) this.#cut(...RATE_LIMITED);
    if (this.#rate.restMs > 0 && !this.#holds.has("fast")) void this.#rest();
  }

  /** Stops reading the peer until its rate permits the next frame. */
  async #rest(): Promise<void> {
    if (!this.#wasFast) this.#logger.warn({ action: "rate_limited" }, "an agent sends faster than it is read");
    this.#wasFast = true;
    this.#hold("fast", true);
    try {
      for (let ms = this.#rate.restMs; ms > 0; ms = this.#rate.restMs) {
        await this.#clock.sleep(Math.max(ms, LEAST_REST_MS), this.#ended.signal);
      }
    } catch {
      // The channel has ended.
    } finally {
      this.#hold("fast", false);
    }
  }

  get isHeld(): boolean {
    return this.#holds.size > 0;
  }

  hold(isHeld: boolean): void {
    this.#hold("asked", isHeld);
  }

  #hold(why: "asked" | "slow" | "fast", stands: boolean): void {
    if (stands && this.#end === undefined) this.#holds.add(why);
    else this.#holds.delete(why);
    if (this.isHeld) this.#socket.pause();
    else this.#socket.resume();
    this.#wasHeld ||= this.isHeld;
  }

  close(code: number, reason: string): void {
    this.#cut(code, reason);
  }

  /** Sends pings until the end. Cuts the connection if no pong comes in time. */
  async keepAlive({ pingIntervalMs, pongTimeoutMs }: WebSocketLimits): Promise<void> {
    const { signal } = this.#ended;
    try {
      for (;;) {
        await this.#clock.sleep(pingIntervalMs, signal);
        if (this.isHeld) continue; // the pong would not be read
        this.#wasHeld = false;
        const isAlive = await answersPing(this.#socket, pongTimeoutMs, this.#clock, signal);
        if (isAlive || this.#wasHeld) continue;
        this.#end ??= new ChannelEnd(CLOSE.noPong, "no pong");
        this.#socket.terminate();
        return;
      }
    } catch {
      // The channel has ended.
    }
  }

  #cut(code: number, reason: string): void {
    if (this.#end === undefined) this.#end = new ChannelEnd(code, reason);
    this.#holds.clear();
    this.#socket.resume(); // reads the peer's response
    this.#socket.close(code, reason);
    const left = this.#clock.sleep(CLOSING_MS, this.#ended.signal);
    left.then(
      () => this.#socket.terminate(),
      () => {},
    );
  }

  async #watchSlow(): Promise<void> {
    this.#hold("slow", true);
    try {
      for (let waitedMs = 0; this.#socket.bufferedAmount > SLOW_BYTES; waitedMs += LOOK_MS) {
        if (waitedMs === WRITE_MS) this.#tellSlow();
        if (waitedMs >= 2 * WRITE_MS) {
          this.#end ??= new ChannelEnd(CLOSE.slow, "does not read");
          this.#socket.terminate();
          return;
        }
        await this.#clock.sleep(LOOK_MS, this.#ended.signal);
      }
    } catch {
      // The channel has ended.
    } finally {
      this.#hold("slow", false);
    }
  }

  #tellSlow(): void {
    const { bufferedAmount: bytes } = this.#socket;
    this.#metrics.slowReaders.inc();
    this.#logger.warn({ action: "slow_reader", bytes }, "an agent does not read; it has as long again");
  }
}
