import { type ChildProcess, spawn } from "node:child_process";
import type { Clock } from "../../base/clock.ts";
import { type ControlBlock, type ControlEvent, ControlParser } from "../control/control-parser.ts";
import { ReplyQueue, type Request } from "../control/reply-queue.ts";
import { type Environment, withoutTmux } from "./environment.ts";

export interface ConnectionOptions {
  readonly tmuxProgram: string;
  readonly socketPath: string;
  readonly session: string;
  readonly env: Environment;
  /** The server counts as hung when it owes an answer and has given none for this long. */
  readonly timeoutMs: number;
  readonly maxInFlight: number;
  readonly maxWaiting: number;
}

export interface Notification {
  readonly name: string;
  readonly rest: string;
}

export interface ConnectionEvents {
  onReady(): void;
  onNotification(notification: Notification): void;
}

/** How long a client that was told to leave may take before it is killed. */
const LEAVE_MS = 500;
/** If this process itself stood still, the answer is there already but has not been read: it is let in first. */
const SECOND_LOOK_MS = 50;
/** How long what the server wrote last may take to arrive after the client is gone. */
const DRAIN_MS = 200;

/** One attached tmux control client: a child process over plain pipes, from its start to its end. Used once. */
export class ControlConnection {
  readonly #clock: Clock;
  readonly #options: ConnectionOptions;
  readonly #events: ConnectionEvents;
  readonly #parser = new ControlParser();
  readonly #queue: ReplyQueue;
  readonly #ended = Promise.withResolvers<void>();
  #child: ChildProcess | undefined;
  #reason: string | undefined;
  #stderr = "";
  #ready = false;
  #answered = false;
  #progressMs = 0;
  #wakeWatchdog = () => {};

  constructor(deps: { readonly clock: Clock }, options: ConnectionOptions, events: ConnectionEvents) {
    this.#clock = deps.clock;
    this.#options = options;
    this.#events = events;
    this.#queue = new ReplyQueue(options, (text) => this.#write(text));
  }

  /** A command was answered. */
  get answered(): boolean {
    return this.#answered;
  }

  /** Resolves with why it ended, once the child is gone; every request without an answer has failed then. */
  async run(signal: AbortSignal): Promise<string> {
    const child = this.#spawn();
    this.#child = child;
    const stop = new AbortController();
    const onAbort = () => this.#leave();
    signal.addEventListener("abort", onAbort, { once: true });
    const watchdog = this.#watch(stop.signal);
    if (signal.aborted) onAbort();
    await this.#ended.promise;
    signal.removeEventListener("abort", onAbort);
    stop.abort();
    await watchdog;
    const reason = this.#reason ?? (this.#stderr.trim() || "the client exited");
    this.#queue.failAll(reason);
    return reason;
  }

  submit(request: Request): void {
    this.#queue.submit(request);
  }

  withdraw(request: Request): boolean {
    return this.#queue.withdraw(request);
  }

  #spawn(): ChildProcess {
    const { tmuxProgram, socketPath, session, env } = this.#options;
    // -N: a client that comes before the server must not start one of its own on our socket. -E: our environment is
    // none of the session's business.
    const args = [
      "-N",
      "-u",
      "-S",
      socketPath,
      "-C",
      "attach-session",
      "-E",
      "-t",
      `=${session}`,
      "-f",
      "ignore-size,no-output",
    ];
    // detached: a Ctrl-C at our terminal is for us, who may still need tmux to end in order.
    const child = spawn(tmuxProgram, args, {
      env: withoutTmux(env),
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
    });
    child.stdout.on("data", (chunk: Buffer) => this.#receive(chunk));
    child.stderr.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString()).slice(-200);
    });
    // The server itself holds the other ends: an error there is followed by the end of the client.
    child.stdin.on("error", () => this.#drop("the pipe to tmux broke"));
    child.stdout.on("error", () => this.#drop("the pipe from tmux broke"));
    child.on("error", (err) => {
      this.#reason ??= `cannot run ${tmuxProgram}: ${err.message}`;
      this.#ended.resolve();
    });
    // The server has the other ends too: one that hangs would keep them open for ever.
    child.on("exit", () => this.#unlessEndedWithin(DRAIN_MS, () => this.#closePipes()));
    child.on("close", () => this.#ended.resolve());
    return child;
  }

  #receive(chunk: Buffer): void {
    for (const event of this.#parser.push(chunk)) this.#handle(event);
    // A long reply that is still coming is an answer; a notification is none.
    if (this.#parser.inBlock) this.#progressMs = this.#clock.monotonicMs();
  }

  #handle(event: ControlEvent): void {
    if (event.type === "block") this.#block(event);
    else if (event.type === "notification") this.#events.onNotification(event);
    else if (event.type === "exit") {
      this.#reason ??= event.reason || "the server let the client go";
      this.#events.onNotification({ name: "exit", rest: event.reason });
    } else if (event.type === "overflow" && event.part === "line") this.#drop("tmux sent a line that is too long");
  }

  #block(block: ControlBlock): void {
    this.#progressMs = this.#clock.monotonicMs();
    if ((block.flags & 1) === 1) {
      this.#answered = true;
      if (!this.#queue.accept(block)) this.#drop("tmux answered what nobody asked");
    } else if (!this.#ready && block.ok) {
      // Before this first block tmux <= 3.3a would parse our lines ahead of its own attach-session.
      this.#ready = true;
      this.#events.onReady();
    } else if (!this.#ready) {
      this.#reason ??= block.body.join(" ");
    }
  }

  #write(text: string): void {
    if (this.#queue.inFlight === 1) this.#progressMs = this.#clock.monotonicMs();
    this.#child?.stdin?.write(text);
    this.#wakeWatchdog();
  }

  /** Kills the client when the server owes an answer (the attach itself is the first) and says nothing for too long. */
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
    this.#child?.stdin?.end();
    this.#unlessEndedWithin(LEAVE_MS, () => this.#drop("the client was stopped"));
  }

  #drop(reason: string): void {
    this.#reason ??= reason;
    this.#child?.kill("SIGKILL");
    this.#closePipes();
  }

  #closePipes(): void {
    for (const pipe of this.#child?.stdio ?? []) pipe?.destroy();
  }

  #unlessEndedWithin(ms: number, act: () => void): void {
    const ended = new AbortController();
    void this.#ended.promise.then(() => ended.abort());
    this.#clock.sleep(ms, ended.signal).then(act, () => {});
  }
}
