import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionOptions,
  type ClientSessionRequestOptions,
  connect,
  constants,
  type OutgoingHttpHeaders,
  type SecureClientSessionOptions,
} from "node:http2";
import type { Socket } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { backgroundClock, readingClock } from "../../base/clock.ts";

/** Flow-control window of a connection, for all its streams together, bytes. */
const CONNECTION_WINDOW_BYTES = 8 * 1024 * 1024;
/** Gives up a server that does not finish the handshake within this time. */
const HANDSHAKE_MS = 20_000;
/** Gives up a server that does not send its SETTINGS, which come first, within this time. */
const SETTINGS_MS = 5000;
/** The reason with which a proxy closes a connection that is pinged too often. */
const TOO_MANY_PINGS = "too_many_pings";

/** Times of a connection's checks, ms. */
export interface ConnectionTimes {
  /** A connection that has been silent for this long is pinged: at once if it has calls, else before the next call. */
  pingIntervalMs: number;
  /** A connection that does not answer a PING within this is cut. */
  readonly pingTimeoutMs: number;
  /** A connection that has had no calls for this long is closed. */
  readonly idleConnectionTimeoutMs: number;
}

export type ConnectionSettings = ClientSessionOptions | SecureClientSessionOptions;

/**
 * One connection to a server, from the dial until its socket has closed. It always listens for errors, has at most one
 * timer, and none after its end.
 */
export class ServerConnection {
  readonly #times: ConnectionTimes;
  readonly #onClosed: (connection: ServerConnection) => void;
  readonly #server: string;
  readonly #session: ClientHttp2Session;
  readonly #opened = Promise.withResolvers<void>();
  #phase: "opening" | "open" | "closing" | "closed" = "opening";
  #isHeard = false;
  #streams = 0;
  #aliveAt = 0;
  #socket: Socket | undefined;
  #timer = new AbortController();
  /** Set while a PING is in progress; resolved when the PING is answered or the connection ends. */
  #checked: PromiseWithResolvers<void> | undefined;

  /**
   * `onClosed`: called once, even if the connection could not be opened. @throws errors of `settings.createConnection`
   */
  constructor(
    authority: string,
    times: ConnectionTimes,
    settings: ConnectionSettings | undefined,
    onClosed: (connection: ServerConnection) => void,
  ) {
    this.#times = times;
    this.#onClosed = onClosed;
    this.#server = `the server at ${new URL(authority).host}`;
    this.#opened.promise.catch(() => {}); // `ready` reports the error, if it is called
    this.#session = connect(authority, settings);
    this.#session.on("error", (err: Error) => this.#opened.reject(err));
    this.#session.once("close", () => this.#closed());
    this.#session.once("connect", (_session, socket) => this.#open(socket));
    this.#session.once("remoteSettings", () => this.#heard());
    this.#session.once("goaway", (_code: number, _last: number, said?: Uint8Array) => this.#goAway(said));
    this.#giveUpAfter(HANDSHAKE_MS, "does not complete the handshake");
  }

  /** True if calls may begin, at once or when the connection has opened. */
  get takesCalls(): boolean {
    return (this.#phase === "opening" || this.#phase === "open") && !this.#session.closed && !this.#session.destroyed;
  }

  /** True once the server's SETTINGS, its first frame, have arrived. */
  get isHeard(): boolean {
    return this.#isHeard;
  }

  /**
   * Resolves with true when a call may begin, or with false if the connection accepts no more calls. @throws Error if
   * it could not be opened
   */
  async ready(): Promise<boolean> {
    await this.#opened.promise;
    const isStale = this.#streams === 0 && performance.now() - this.#aliveAt > this.#times.pingIntervalMs;
    if (this.takesCalls && (isStale || this.#checked)) await this.#check();
    return this.takesCalls;
  }

  /** Begins a call. @throws Error if Node cannot, e.g. on a connection that has just ended */
  request(headers: OutgoingHttpHeaders, options: ClientSessionRequestOptions): ClientHttp2Stream {
    const stream = this.#session.request(headers, options);
    stream.on("error", () => {}); // until the caller listens
    stream.once("response", () => this.alive());
    stream.once("close", () => {
      this.#streams--;
      if (this.#streams === 0 && !this.#checked) this.#session.unref();
      this.#rest();
    });
    this.#streams++;
    this.#session.ref();
    this.#rest();
    return stream;
  }

  has(stream: ClientHttp2Stream): boolean {
    return stream.session === this.#session;
  }

  /** To be called when something has arrived from the server. */
  alive(): void {
    this.#aliveAt = performance.now();
  }

  /**
   * Accepts no further calls, and closes after the last one. Calls that wait for the connection to open still begin.
   */
  retire(): void {
    if (this.#phase === "opening") {
      this.#opened.promise.then(
        () => setImmediate(() => this.retire()),
        () => {},
      );
      return;
    }
    if (this.#phase !== "open") return;
    this.#phase = "closing";
    this.#session.close();
    this.#rest();
  }

  /** Closes the connection; its calls fail with `reason`. */
  destroy(reason: ConnectError): void {
    this.#opened.reject(reason);
    if (!this.#session.destroyed) this.#session.destroy(reason, constants.NGHTTP2_CANCEL);
    // For a session that was closing, Node only ends the socket and waits for the peer to do the same.
    this.#socket?.destroy();
  }

  #open(socket: Socket): void {
    this.#socket = socket;
    if (this.#phase !== "opening" || this.#session.destroyed) return;
    this.#phase = "open";
    this.#session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    this.alive();
    // A reset right after the handshake is not always reported: Node may neither read nor write any more, and emit no
    // event.
    const settingsMs = Math.min(SETTINGS_MS, this.#times.pingTimeoutMs);
    this.#giveUpAfter(settingsMs, "sends no HTTP/2 settings");
    this.#opened.resolve();
  }

  #heard(): void {
    this.#isHeard = true;
    this.#rest();
  }

  #goAway(said: Uint8Array | undefined): void {
    if (said !== undefined && Buffer.from(said).equals(Buffer.from(TOO_MANY_PINGS))) this.#times.pingIntervalMs *= 2;
    if (this.#phase === "closed") return;
    this.#phase = "closing";
    // Node does not close a connection that has no calls.
    if (this.#streams === 0) this.#session.destroy();
    else this.#rest();
  }

  #closed(): void {
    this.#phase = "closed";
    this.#timer.abort();
    this.#opened.reject(new ConnectError("the connection was cut", Code.Unavailable));
    this.#checked?.resolve();
    this.#onClosed(this);
  }

  /** Sets the timer for the next check, unless it is running for the handshake, SETTINGS or a PING. */
  #rest(): void {
    if (!this.#isHeard || this.#checked || this.#phase === "closed") return;
    if (this.#streams > 0) {
      this.#pingWhenSilent();
    } else {
      this.#session.unref(); // does not keep the process alive
      this.#end();
    }
  }

  #end(): void {
    const { idleConnectionTimeoutMs, pingTimeoutMs } = this.#times;
    if (this.#phase === "open") this.#after(idleConnectionTimeoutMs, () => this.retire());
    // A peer that does not close its side would keep the socket open.
    else this.#giveUpAfter(pingTimeoutMs, "does not end the connection");
  }

  #pingWhenSilent(): void {
    const left = this.#aliveAt + this.#times.pingIntervalMs - performance.now();
    if (left > 0) this.#after(left, () => this.#pingWhenSilent());
    else void this.#check();
  }

  /** Resolves when the server has answered a PING, or the connection has ended. */
  #check(): Promise<void> {
    if (this.#checked) return this.#checked.promise;
    const checked = Promise.withResolvers<void>();
    this.#checked = checked;
    this.#session.ref();
    this.#giveUpAfter(this.#times.pingTimeoutMs, "does not answer a PING");
    const answered = (err: Error | null) => {
      if (err !== null || this.#checked !== checked) return; // cancelled: the connection ends
      this.#checked = undefined;
      this.alive();
      this.#rest();
      checked.resolve();
    };
    if (!this.#session.destroyed) this.#session.ping(answered);
    return checked.promise;
  }

  #giveUpAfter(ms: number, why: string): void {
    const error = () => new ConnectError(`${this.#server} ${why}`, Code.Unavailable);
    this.#after(ms, () => this.destroy(error()), readingClock(backgroundClock));
  }

  #after(ms: number, then: () => void, clock = backgroundClock): void {
    this.#timer.abort();
    if (this.#phase === "closed") return;
    this.#timer = new AbortController();
    clock.sleep(ms, this.#timer.signal).then(then, () => {});
  }
}
