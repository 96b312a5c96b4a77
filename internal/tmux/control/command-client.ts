import { randomUUID } from "node:crypto";
import { raceSignal } from "../../base/abort.ts";
import { backoffMs } from "../../base/backoff.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import type { AskOptions, Commands, Reply } from "../pane/commands.ts";
import { TmuxUnavailableError } from "../pane/errors.ts";
import type { OpenStream } from "./byte-stream.ts";
import { ControlStream, type Notification } from "./control-stream.ts";
import { commandRequest, type SentRequest, scriptRequest } from "./requests.ts";

export type { Notification } from "./control-stream.ts";

export interface CommandClientOptions {
  /** Opens the byte stream of a new control client for each attach. */
  readonly open: OpenStream;
  /** How long an answer may take before the client detaches and attaches again, ms. Default 2000. */
  readonly timeoutMs?: number;
  /** The most commands that are written and not yet answered; further ones wait. Default 64. */
  readonly maxInFlight?: number;
  /** Called when the other end of a stream turns out not to speak control mode, once for each stream. */
  readonly onForeign?: () => void;
}

const RETRY = { firstMs: 10, maxMs: 1000, factor: 1.6 };
const MAX_WAITING = 1024;
/** tmux's messages if an attach finds no session at all, or none of that name. */
const NO_SESSION = /^(no sessions|can't find session)/;

/**
 * Commands for a tmux server over one attached control client that gets no pane output. Attaches again, with back-off,
 * whenever the client ends or the server does not answer; while it is not attached every command fails at once.
 *
 * On a server with other sessions, keep one client instead of attaching for each call: tmux 3.3a was seen to crash when
 * a session was created or closed at the moment when a control client attached, but not while one was attached or left.
 */
export class CommandClient implements Commands, Task {
  readonly #deps: { readonly clock: Clock; readonly logger: Logger };
  readonly #options: CommandClientOptions;
  readonly #listeners = new Set<(notification: Notification) => void>();
  #attached = Promise.withResolvers<void>();
  #connection: ControlStream | undefined;
  #reason = "not attached yet";
  #failures = 0;

  constructor(deps: { readonly clock: Clock; readonly logger: Logger }, options: CommandClientOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** True while attached. */
  get isAttached(): boolean {
    return this.#connection !== undefined;
  }

  /**
   * True if the server answers and has no session of that name: it was closed or renamed, or the server is starting.
   */
  get isSessionMissing(): boolean {
    return this.#connection === undefined && NO_SESSION.test(this.#reason);
  }

  /**
   * The number of clients that have ended since a command was last answered. Several in a row mean that the server
   * hangs or is gone.
   */
  get failures(): number {
    return this.#connection?.answered ? 0 : this.#failures;
  }

  /** Stays attached until `signal` is aborted; never ends by itself. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const connection = this.#connect();
      const reason = await connection.run(signal);
      if (this.#connection === connection) {
        this.#connection = undefined;
        this.#attached = Promise.withResolvers<void>();
      }
      this.#reason = reason;
      if (signal.aborted) return;
      const waitMs = backoffMs(RETRY, connection.answered ? 0 : this.#failures, Math.random);
      this.#failures = connection.answered ? 1 : this.#failures + 1;
      this.#deps.logger.debug({ reason, failures: this.#failures, wait_ms: waitMs }, "tmux client ended, reattaching");
      await this.#deps.clock.sleep(waitMs, signal).catch(() => {});
    }
  }

  /** Resolves at once if attached, otherwise at the next attach. Rejects with the signal's reason. */
  attached(signal: AbortSignal): Promise<void> {
    return raceSignal(this.#attached.promise, signal);
  }

  async command(line: string, options: AskOptions = {}): Promise<readonly string[]> {
    return await this.#ask(commandRequest(line), options);
  }

  async script(line: string, options: AskOptions = {}): Promise<readonly Reply[]> {
    return await this.#ask(scriptRequest(line, `gt-${randomUUID()}`), options);
  }

  /**
   * Calls `listener` for each notification (name without the `%`), `exit` included. The listener must not throw.
   * Returns a function that unsubscribes it.
   */
  onNotification(listener: (notification: Notification) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #connect(): ControlStream {
    const { open, timeoutMs = 2000, maxInFlight = 64 } = this.#options;
    const connection: ControlStream = new ControlStream(
      this.#deps,
      { open, timeoutMs, maxInFlight, maxWaiting: MAX_WAITING },
      {
        onReady: () => {
          this.#connection = connection;
          this.#attached.resolve();
        },
        onNotification: (notification) => {
          for (const listener of this.#listeners) listener(notification);
        },
        onForeign: () => this.#options.onForeign?.(),
      },
    );
    return connection;
  }

  async #ask<T>(asked: SentRequest<T>, options: AskOptions): Promise<T> {
    options.signal?.throwIfAborted();
    const connection = this.#connection;
    if (!connection) throw new TmuxUnavailableError(this.#reason, false);
    connection.submit(asked.request);
    if (!options.signal) return await asked.answer;
    try {
      return await raceSignal(asked.answer, options.signal);
    } catch (err) {
      if (options.signal.aborted) connection.withdraw(asked.request);
      throw err;
    }
  }
}
