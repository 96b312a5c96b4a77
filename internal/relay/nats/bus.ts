import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from "@nats-io/jetstream";
import {
  type ConnectionOptions,
  connect,
  createInbox,
  type NatsConnection,
  PermissionViolationError,
} from "@nats-io/transport-node";
import type { Clock } from "../../base/clock.ts";
import { DomainError, errorText } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { MessageSigner } from "./signing.ts";
import { type StreamNames, streamNames } from "./stream-specs.ts";

export interface BusOptions {
  readonly url: string;
  /** The connection's name in the server's lists. */
  readonly name: string;
  readonly streamPrefix: string;
  /** How long the first connection is attempted, ms. */
  readonly firstMs: number;
  /** Signs messages. Default: messages are unsigned. */
  readonly signer?: MessageSigner | undefined;
  readonly auth?: Pick<ConnectionOptions, "authenticator" | "inboxPrefix" | "tls">;
}

const RETRY_MS = 250;
const TIMEOUT_MS = 5000;
const MAX_PAYLOAD = 1024 * 1024;

/**
 * A connection to NATS that reconnects without limit. The library loses what is published while it is disconnected,
 * without an error, so callers wait for `connected` or request an acknowledgement.
 */
export class Bus {
  readonly nc: NatsConnection;
  readonly js: JetStreamClient;
  readonly jsm: JetStreamManager;
  readonly streams: StreamNames;
  readonly inboxPrefix: string;
  /** Undefined: messages are unsigned. */
  readonly signer: MessageSigner | undefined;
  /** Notified when the connection is lost or restored, and when `isRefused` may have changed. */
  readonly changes = new SignalBus();
  readonly #refused = new Set<string>();
  readonly #onViolation = new Set<(violation: PermissionViolationError) => void>();
  #connected = true;
  #reconnects = 0;

  private constructor(nc: NatsConnection, jsm: JetStreamManager, options: BusOptions) {
    this.nc = nc;
    this.jsm = jsm;
    this.js = jetstream(nc, { timeout: TIMEOUT_MS });
    this.streams = streamNames(options.streamPrefix);
    this.signer = options.signer;
    this.inboxPrefix = options.auth?.inboxPrefix ?? "_INBOX";
  }

  /**
   * @throws DomainError `unavailable` if no connection succeeds within `firstMs`; `denied` if the server refuses the
   * credentials
   */
  static async open(clock: Clock, options: BusOptions, signal: AbortSignal): Promise<Bus> {
    const nc = await firstConnection(clock, options, signal);
    try {
      const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: TIMEOUT_MS });
      return new Bus(nc, jsm, options);
    } catch (err) {
      await nc.close();
      throw err;
    }
  }

  get isConnected(): boolean {
    return this.#connected;
  }

  get reconnects(): number {
    return this.#reconnects;
  }

  /** The longest message that the server accepts, headers included, in bytes. */
  get maxPayload(): number {
    return this.nc.info?.max_payload ?? MAX_PAYLOAD;
  }

  /** True while the server denies a permission that the relay needs. */
  get isRefused(): boolean {
    return this.#refused.size > 0;
  }

  /** Records whether the server refuses a subject. */
  refuses(subject: string, stands: boolean): void {
    const before = this.#refused.size;
    if (stands) this.#refused.add(subject);
    else this.#refused.delete(subject);
    if (this.#refused.size !== before) this.changes.notify();
  }

  /**
   * Calls `listener` with each permission that the server denies, until the returned function is called. Queue
   * subscriptions need it: the library reports a denial to them only if the server names the queue, and older servers
   * do not.
   */
  listenToViolations(listener: (violation: PermissionViolationError) => void): () => void {
    this.#onViolation.add(listener);
    return () => this.#onViolation.delete(listener);
  }

  inbox(): string {
    return createInbox(this.inboxPrefix);
  }

  /** Resolves as soon as there is a connection. */
  async connected(signal: AbortSignal): Promise<void> {
    while (!this.#connected) await this.changes.next(signal);
    signal.throwIfAborted();
  }

  /** Tracks the connection's state until the signal, then closes the connection. */
  async run(logger: Logger, signal: AbortSignal): Promise<void> {
    const close = () => void this.nc.close();
    signal.addEventListener("abort", close, { once: true });
    if (signal.aborted) close();
    for await (const status of this.nc.status()) {
      if (status.type === "disconnect") {
        this.#set(false);
        logger.warn({ action: "nats_disconnected" }, "the connection to NATS is lost");
      }
      if (status.type === "reconnect") {
        this.#reconnects++;
        this.#set(true);
        logger.info({ action: "nats_reconnected" }, "NATS is back");
      }
      if (status.type === "error") {
        const { error } = status;
        logger.error({ action: "nats_error", err: error.message }, "NATS refuses");
        if (error instanceof PermissionViolationError) for (const tell of this.#onViolation) tell(error);
      }
    }
    this.#set(false);
    await this.nc.closed();
  }

  #set(connected: boolean): void {
    if (this.#connected === connected) return;
    this.#connected = connected;
    this.changes.notify();
  }
}

async function firstConnection(clock: Clock, options: BusOptions, signal: AbortSignal): Promise<NatsConnection> {
  const { url, name, firstMs, auth } = options;
  const end = clock.monotonicMs() + firstMs;
  for (;;) {
    try {
      return await connect({
        ...auth,
        servers: url,
        name,
        timeout: Math.min(TIMEOUT_MS, firstMs),
        maxReconnectAttempts: -1,
        reconnectTimeWait: RETRY_MS,
        reconnectJitter: RETRY_MS,
        ignoreAuthErrorAbort: true,
        pingInterval: 10_000,
        noAsyncTraces: true, // the library takes a stack trace for each request otherwise
      });
    } catch (err) {
      const failure = refusal(url, err);
      if (failure.kind === "denied" || clock.monotonicMs() >= end) throw failure;
    }
    await clock.sleep(RETRY_MS, signal);
  }
}

function refusal(url: string, err: unknown): DomainError {
  const place = safeUrl(url);
  // "Authentication Timeout": client or server was too busy for the credentials to arrive in time. Try again.
  if (err instanceof Error && err.name === "AuthorizationError" && !/timeout/i.test(err.message)) {
    return new DomainError("denied", `NATS at ${place} refuses the credentials: ${err.message}`, { cause: err });
  }
  return new DomainError("unavailable", `cannot reach NATS at ${place}: ${errorText(err)}`, {
    fields: { hint: "is nats-server running there, with JetStream (-js)? --nats-url names another" },
    cause: err,
  });
}

/** The URL without name and password. */
function safeUrl(url: string): string {
  return url.replace(/\/\/[^@/]*@/, "//");
}
