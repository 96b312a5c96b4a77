import { ConnectError, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import type { Clock } from "../../internal/base/clock.ts";
import { BridgeService } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { serverRevocation } from "../../internal/pki/trust.ts";
import { connectSessions } from "../../internal/rpc/client/connect-sessions.ts";
import type { ServerClock } from "../../internal/rpc/client/server-clock.ts";
import { SwitchingSessions } from "../../internal/rpc/client/switching-sessions.ts";
import type { ClientTls } from "../../internal/rpc/common/tls.ts";
import { type Credentials, Tokens } from "./auth.ts";
import type { Settings } from "./options.ts";

const READ_MAX_BYTES = 16 * 1024 * 1024;
const HEALTH_MS = 5000;
/** The wait between two attempts to present a new token. */
const AGAIN_MS = 1000;

/**
 * A connection to the bridge with one certificate. The bridge ends a stream when the last token it saw on the
 * connection expires. While streams are open, each new token is therefore presented before the old one expires.
 */
export class Link implements Disposable {
  readonly #clock: Clock;
  readonly #tokens: Tokens;
  readonly #sessions: SwitchingSessions;
  readonly transport: Transport;
  /** Aborted when no stream is open any more; then new tokens are no longer presented. */
  #showing: AbortController | undefined;
  #tokenChanged = new AbortController();
  /** Calls in progress, including streams. */
  #calls = 0;
  #streams = 0;
  #retired = false;

  constructor(clock: Clock, settings: Settings, credentials: Credentials, server: ServerClock) {
    const { baseUrl, serverName, keepalive } = settings;
    this.#clock = clock;
    this.#tokens = new Tokens(settings.jwt, credentials, () => clock.now(), server);
    const dial = { baseUrl, serverName, ...keepalive };
    this.#sessions = new SwitchingSessions(connectSessions(dial, trustOf(credentials, clock)));
    this.transport = createConnectTransport({
      baseUrl,
      httpVersion: "2",
      sessionManager: this.#sessions,
      interceptors: [this.#bearer(server), this.#sessions.interceptor()],
      acceptCompression: [],
      readMaxBytes: READ_MAX_BYTES,
    });
  }

  /** The number of open streams. */
  get streams(): number {
    return this.#streams;
  }

  /** Counts a call. Call this before the call begins, and the returned function after the call ends. */
  hold(kind: "call" | "stream"): () => void {
    this.#calls++;
    if (kind === "stream" && ++this.#streams === 1) this.#showTokens();
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#calls--;
      if (kind === "stream" && --this.#streams === 0) this.#showing?.abort();
      if (this.#retired && this.isUnused) this[Symbol.dispose]();
    };
  }

  /** Signs with this key from now on; while streams are open, presents a new token at once. */
  useKey(credentials: Credentials): void {
    this.#tokens.useKey(credentials.signingKey);
    this.#tokenChanged.abort();
  }

  /** True if no call is in progress. */
  get isUnused(): boolean {
    return this.#calls === 0;
  }

  /** Closes the connection after its last call; no call may begin after this. */
  retire(): void {
    this.#retired = true;
    if (this.isUnused) this[Symbol.dispose]();
  }

  /** Closes the connection and cancels all calls on it. */
  [Symbol.dispose](): void {
    this.#showing?.abort();
    this.#sessions.abort();
  }

  /** Adds the current token to each call, and reads the bridge's time from each response. */
  #bearer(server: ServerClock): Interceptor {
    const learn = (headers: Headers) => {
      if (!server.learn(headers)) return;
      this.#tokens.renew();
      this.#tokenChanged.abort();
    };
    return (next) => async (req) => {
      req.header.set("authorization", `Bearer ${this.#tokens.current()}`);
      try {
        const res = await next(req);
        learn(res.header);
        return res;
      } catch (err) {
        if (err instanceof ConnectError) learn(err.metadata);
        throw err;
      }
    };
  }

  #showTokens(): void {
    const showing = new AbortController();
    this.#showing = showing;
    // The promise rejects only when the signal is aborted.
    this.#showUntil(showing.signal).catch(() => {});
  }

  async #showUntil(signal: AbortSignal): Promise<void> {
    this.#tokens.current();
    while (!signal.aborted) {
      this.#tokenChanged = new AbortController();
      const wait = Math.max(0, this.#tokens.renewsAt - this.#clock.now());
      await this.#clock.sleep(wait, AbortSignal.any([signal, this.#tokenChanged.signal])).catch(() => {});
      while (!signal.aborted && !(await this.#showToken(signal))) await this.#clock.sleep(AGAIN_MS, signal);
    }
  }

  async #showToken(signal: AbortSignal): Promise<boolean> {
    try {
      await this.transport.unary(BridgeService.method.health, signal, HEALTH_MS, undefined, {});
      return true;
    } catch {
      return false;
    }
  }
}

/** Refuses a bridge whose certificate a revocation list of its CA names. */
function trustOf({ tls, lists }: Credentials, clock: Clock): ClientTls {
  if (lists.length === 0) return tls;
  return { ...tls, refuse: serverRevocation(tls.ca, lists, () => clock.now()) };
}
