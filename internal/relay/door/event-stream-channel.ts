import type { Clock } from "../../base/clock.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { RelayMetrics } from "../lanes/relay-metrics.ts";
import { ChannelEnd } from "../links/channel-end.ts";
import type { FrameChannel } from "../links/frame-channel.ts";
import { type FrameRate, RATE_LIMITED } from "./frame-rates.ts";

export interface EventStreamDeps {
  readonly clock: Clock;
  readonly metrics: Pick<RelayMetrics, "slowReaders">;
}

/** The agent counts as slow while more than this is unread, in bytes. */
const SLOW_BYTES = 4 * 1024 * 1024;
/** The connection ends when the agent has been slow for this long. */
const SLOW_MS = 20_000;
const LOOK_MS = 250;
const SLOW = 1013;

/**
 * Carries the frames of an agent without WebSocket: each frame to the agent is a server-sent event, and each frame from
 * it is a POST. The channel ends with the stream of events.
 */
export class EventStreamChannel implements FrameChannel {
  onFrame: (text: string) => void = () => {};
  /** The body of the response to the agent's GET. */
  readonly body: ReadableStream<Uint8Array>;
  readonly #clock: Clock;
  readonly #metrics: EventStreamDeps["metrics"];
  readonly #rate: FrameRate;
  readonly #ended = new AbortController();
  readonly #released = new SignalBus();
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #isAsked = false;
  #isSlow = false;

  constructor({ clock, metrics }: EventStreamDeps, rate: FrameRate) {
    this.#clock = clock;
    this.#metrics = metrics;
    this.#rate = rate;
    this.body = new ReadableStream(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        cancel: () => this.#end(1006, "cut"),
      },
      { highWaterMark: SLOW_BYTES, size: (chunk) => chunk?.length ?? 0 },
    );
    this.#write(": open\n\n"); // sends the head of the response
  }

  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  get isHeld(): boolean {
    return this.#isAsked || this.#isSlow;
  }

  send(text: string): void {
    const lines = text.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`);
    this.#write(`${lines.join("")}\n`);
    if ((this.#controller?.desiredSize ?? 0) < 0 && !this.#isSlow) void this.#watchSlow();
  }

  /** Delivers a frame of the agent, as soon as hold and rate permit. False: the connection has ended. */
  async came(text: string): Promise<boolean> {
    try {
      this.#rate.count();
      if (this.#rate.isTooFast) this.close(...RATE_LIMITED);
      while (this.isHeld) await this.#released.next(this.ended);
      for (let ms = this.#rate.restMs; ms > 0; ms = this.#rate.restMs) await this.#clock.sleep(ms, this.ended);
    } catch {
      return false;
    }
    if (this.ended.aborted) return false;
    this.onFrame(text);
    return true;
  }

  hold(isHeld: boolean): void {
    this.#isAsked = isHeld;
    if (!this.isHeld) this.#released.notify();
  }

  close(code: number, reason: string): void {
    if (this.ended.aborted) return;
    this.#write(`event: close\ndata: ${JSON.stringify({ code, reason })}\n\n`);
    this.#controller?.close();
    this.#end(code, reason);
  }

  /** Ends the channel without a close event: the caller is gone or may not stay. */
  cut(code: number, why: string): void {
    this.#end(code, why);
  }

  /** Sends comments until the end, so that proxies do not drop an idle stream. */
  async keepAlive(everyMs: number): Promise<void> {
    try {
      for (;;) {
        await this.#clock.sleep(everyMs, this.ended);
        this.#write(": alive\n\n");
      }
    } catch {
      // The channel has ended.
    }
  }

  #write(text: string): void {
    if (!this.ended.aborted) this.#controller?.enqueue(Buffer.from(text));
  }

  #end(code: number, why: string): void {
    if (this.ended.aborted) return;
    this.#ended.abort(new ChannelEnd(code, why));
  }

  async #watchSlow(): Promise<void> {
    this.#isSlow = true;
    this.#metrics.slowReaders.inc();
    try {
      for (let waitedMs = 0; (this.#controller?.desiredSize ?? 0) < 0; waitedMs += LOOK_MS) {
        if (waitedMs >= SLOW_MS) {
          this.#controller?.error(new Error("the agent does not read"));
          return this.#end(SLOW, "does not read");
        }
        await this.#clock.sleep(LOOK_MS, this.ended);
      }
    } catch {
      // The channel has ended.
    } finally {
      this.#isSlow = false;
      if (!this.isHeld) this.#released.notify();
    }
  }
}
