import type { Clock } from "../../base/clock.ts";
import { errorText } from "../../base/errors.ts";
import type { ByteStream, OpenStream } from "./byte-stream.ts";
import { type ControlBlock, type ControlEvent, ControlParser } from "./control-parser.ts";
import { ReplyQueue, type Request } from "./reply-queue.ts";

export interface ControlStreamOptions {
  /** Both directions of an attached control client. */
  readonly open: OpenStream;
  /** How long an answer may take before the server counts as hung, ms. */
  readonly timeoutMs: number;
  readonly maxInFlight: number;
  readonly maxWaiting: number;
}

export interface Notification {
  readonly name: string;
  readonly rest: string;
}

export interface ControlStreamEvents {
  onReady(): void;
  onNotification(notification: Notification): void;
  /**
   * Called at most once, when the other end sends something that tmux never sends, and so does not speak control mode.
   */
  onForeign(): void;
}

/** How long a client that was asked to leave may take before its stream is cut. */
const LEAVE_MS = 500;
/** The extra time to read an answer that has arrived unread because this process itself was stalled. */
const SECOND_LOOK_MS = 50;
/** Longest time that one reply may take to arrive. */
const LONGEST_REPLY_MS = 30_000;

/**
 * Control mode over one byte stream, from its start to its end. Its input is untrusted, because the server may be the
 * agent's own. Use an instance only once.
 */
export class ControlStream {
  readonly #clock: Clock;
  readonly #options: ControlStreamOptions;
  readonly #events: ControlStreamEvents;
  readonly #parser = new ControlParser();
  readonly #queue: ReplyQueue;
  readonly #ended = Promise.withResolvers<void>();
  #stream: ByteStream | undefined;
  #reason: string | undefined;
  #ready = false;
  #answered = false;
  #foreign = false;
  #progressMs = 0;
  /** When the open block began, monotonic, ms. */
  #blockMs: number | undefined;
  #wakeWatchdog = () => {};

  constructor(deps: { readonly clock: Clock }, options: ControlStreamOptions, events: ControlStreamEvents) {
    this.#clock = deps.clock;
    this.#options = options;
    this.#events = events;
    this.#queue = new ReplyQueue(options, (text) => this.#write(text));
  }

  /** True once a command has been answered. */
  get answered(): boolean {
    return this.#answered;
  }

  /** Resolves with the reason for the end of the stream; by then every request without an answer has failed. */
  async run(signal: AbortSignal): Promise<string> {
    try {
      this.#stream = this.#options.open({
        onBytes: (chunk) => this.#receive(chunk),
        onClosed: (reason) => this.#close(reason),
      });
    } catch (err) {
      return errorText(err);
    }
    const stop = new AbortController();
    const onAbort = () => this.#leave();
    signal.addEventListener("abort", onAbort, { once: true });
    const watchdog = this.#watch(stop.signal);
    if (signal.aborted) onAbort();
    await this.#ended.promise;
    signal.removeEventListener("abort", onAbort);
    stop.abort();
    await watchdog;
    const reason = this.#reason ?? "the client ended";
    this.#queue.failAll(reason);
    return reason;
  }

  submit(request: Request): void {
    this.#queue.submit(request);
  }

  withdraw(request: Request): boolean {
    return this.#queue.withdraw(request);
  }

  #close(reason: string): void {
    this.#reason ??= reason;
    this.#ended.resolve();
  }

  #receive(chunk: Uint8Array): void {
    for (const event of this.#parser.push(chunk)) this.#handle(event);
    this.#noteOpenBlock();
  }

  /** Counts a long reply that is still arriving as progress, but neither a notification nor a reply that never ends. */
  #noteOpenBlock(): void {
    const now = this.#clock.monotonicMs();
    this.#blockMs = this.#parser.inBlock ? (this.#blockMs ?? now) : undefined;
    if (this.#blockMs !== undefined && now - this.#blockMs < LONGEST_REPLY_MS) this.#progressMs = now;
  }

  #handle(event: ControlEvent): void {
    if (event.type === "block") this.#block(event);
    else if (event.type === "notification") this.#events.onNotification(event);
    else if (event.type === "exit") {
      this.#reason ??= event.reason || "the server detached the client";
      this.#events.onNotification({ name: "exit", rest: event.reason });
    } else if (event.type === "stray") this.#noteForeign();
    else if (event.part === "line") this.#dropForeign("tmux sent a line that is too long");
  }

  #block(block: ControlBlock): void {
    this.#progressMs = this.#clock.monotonicMs();
    this.#blockMs = undefined;
    if ((block.flags & 1) === 1) {
      this.#answered = true;
      if (!this.#queue.accept(block)) this.#dropForeign("tmux sent a reply without a request");
    } else if (!this.#ready && block.ok) {
      // Before this first block, tmux <= 3.3a would run our lines ahead of its own attach-session.
      this.#ready = true;
      this.#events.onReady();
    } else if (!this.#ready) {
      this.#reason ??= block.body.join(" ").slice(0, 200);
    }
  }

  #write(text: string): void {
    if (this.#queue.inFlight === 1) this.#progressMs = this.#clock.monotonicMs();
    this.#stream?.write(text);
    this.#wakeWatchdog();
  }

  /**
   * Cuts the stream if the server makes no progress for too long while it owes an answer; the first answer due is to
   * the attach itself.
   */
  async #watch(signal: AbortSignal): Promise<void> {
    this.#progressMs = this.#clock.monotonicMs();
    while (!signal.aborted) {
      if (this.#ready && this.#queue.inFlight === 0) await this.#nextWrite(signal);
      if (signal.aborted) return;
      const leftMs = this.#progressMs + this.#options.timeoutMs - this.#clock.monotonicMs();
      await this.#clock.sleep(Math.max(0, leftMs), signal).catch(() => {});
      if (this.#isOverdue()) await this.#clock.sleep(SECOND_LOOK_MS, signal).catch(() => {});
      if (this.#isOverdue() && !signal.aborted) return this.#drop(`no answer within ${this.#options.timeoutMs} ms`);
    }
  }

  #isOverdue(): boolean {
    if (this.#ready && this.#queue.inFlight === 0) return false;
    return this.#clock.monotonicMs() >= this.#progressMs + this.#options.timeoutMs;
  }

  #nextWrite(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        signal.removeEventListener("abort", done);
        this.#wakeWatchdog = () => {};
        resolve();
      };
      signal.addEventListener("abort", done, { once: true });
      this.#wakeWatchdog = done;
    });
  }

  #leave(): void {
    this.#reason ??= "the client was stopped";
    this.#stream?.end();
    const ended = new AbortController();
    void this.#ended.promise.then(() => ended.abort());
    this.#clock.sleep(LEAVE_MS, ended.signal).then(
      () => this.#drop("the client was stopped"),
      () => {},
    );
  }

  #dropForeign(reason: string): void {
    this.#noteForeign();
    this.#drop(reason);
  }

  #noteForeign(): void {
    if (this.#foreign) return;
    this.#foreign = true;
    this.#events.onForeign();
  }

  #drop(reason: string): void {
    this.#reason ??= reason;
    this.#stream?.destroy();
  }
}
