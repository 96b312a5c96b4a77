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

/** How much all streams of a connection together may have on their way to us, bytes. */
const CONNECTION_WINDOW_BYTES = 8 * 1024 * 1024;
/** A server that has not finished the handshake after this is given up. */
const HANDSHAKE_MS = 20_000;
/** A server sends its settings first; one that has not done so after this is given up. */
const SETTINGS_MS = 5000;
/** What a proxy that is pinged too often says when it closes the connection. */
const TOO_MANY_PINGS = "too_many_pings";

/** When a connection is checked and closed, ms. */
export interface ConnectionTimes {
  /** After how long a silent connection is pinged: with open calls then, without them before the next one begins. */
  pingIntervalMs: number;
  /** It is cut when it does not answer within this. */
  readonly pingTimeoutMs: number;
  /** It is closed after this without a call. */
  readonly idleConnectionTimeoutMs: number;
}

export type ConnectionSettings = ClientSessionOptions | SecureClientSessionOptions;

/**
 * One connection to a server, from the dial to the end of its socket. It listens for errors at every instant between
 * them, has one timer at most, and no timer after its end.
 */
export class ServerConnection {
  readonly #times: ConnectionTimes;
  readonly #onClosed: (connection: ServerConnection) => void;
  readonly #session: ClientHttp2Session;
  readonly #opened = Promise.withResolvers<void>();
  #phase: "opening" | "open" | "closing" | "closed" = "opening";
  #isHeard = false;
  #streams = 0;
  #aliveAt = 0;
  #socket: Socket | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** A PING is under way; called when it is answered, or never will be. */
  #checked: PromiseWithResolvers<void> | undefined;

  /** `onClosed`: called once, also when it could not be opened. @throws what `settings.createConnection` throws */
  constructor(
    authority: string,
    times: ConnectionTimes,
    settings: ConnectionSettings | undefined,
    onClosed: (connection: ServerConnection) => void,
  ) {
    this.#times = times;
    this.#onClosed = onClosed;
    this.#opened.promise.catch(() => {}); // those who wait for it are told; there may be none
    this.#session = connect(authority, settings);
    this.#session.on("error", (err: Error) => this.#opened.reject(err));
    this.#session.once("close", () => this.#closed());
    this.#session.once("connect", (_session, socket) => this.#open(socket));
    this.#session.once("remoteSettings", () => this.#heard());
    this.#session.once("goaway", (_code: number, _last: number, said?: Uint8Array) => this.#goAway(said));
    this.#after(HANDSHAKE_MS, () => this.#giveUp("the server does not complete the handshake"));
  }

  /** Calls may begin on it, at once or when it is open. */
  get takesCalls(): boolean {
    return (this.#phase === "opening" || this.#phase === "open") && !this.#session.closed && !this.#session.destroyed;
  }

  /** The server's first frame has come. */
  get isHeard(): boolean {
    return this.#isHeard;
  }

  /** Resolves once a call may begin: true, or false for one that has ended. @throws why it could not be opened */
  async ready(): Promise<boolean> {
    await this.#opened.promise;
    const isStale = this.#streams === 0 && performance.now() - this.#aliveAt > this.#times.pingIntervalMs;
    if (this.takesCalls && (isStale || this.#checked)) await this.#check();
    return this.takesCalls;
  }

  /** Begins a call. @throws Error where Node cannot, e.g. for a connection that has just ended */
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

  /** Something has come from the server. */
  alive(): void {
    this.#aliveAt = performance.now();
  }

  /** No more calls begin here: it closes when the last one has ended. Those that wait for it to open still begin. */
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

  /** Ends it and all its calls, with `reason`. */
  destroy(reason: ConnectError): void {
    this.#opened.reject(reason);
    if (!this.#session.destroyed) this.#session.destroy(reason, constants.NGHTTP2_CANCEL);
    // Node only ends the socket of a session that was closing, and waits for the peer to do so too.
    this.#socket?.destroy();
  }

  #open(socket: Socket): void {
    this.#socket = socket;
    if (this.#phase !== "opening" || this.#session.destroyed) return;
    this.#phase = "open";
    this.#session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    this.alive();
    // A connection that is reset right after its handshake is not always reported: Node may neither read nor write on
    // it any more, and emit nothing.
    const settingsMs = Math.min(SETTINGS_MS, this.#times.pingTimeoutMs);
    this.#after(settingsMs, () => this.#giveUp("the server sends no settings"));
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
    // Node leaves it open where it has no calls.
    if (this.#streams === 0) this.#session.destroy();
    else this.#rest();
  }

  #closed(): void {
    this.#phase = "closed";
    clearTimeout(this.#timer);
    this.#opened.reject(new ConnectError("the connection was cut", Code.Unavailable));
    this.#checked?.resolve();
    this.#onClosed(this);
  }

  /** Waits for what comes next. Handshake, settings and PING have their own limits. */
  #rest(): void {
    if (!this.#isHeard || this.#checked || this.#phase === "closed") return;
    if (this.#streams > 0) {
      this.#pingWhenSilent();
    } else {
      this.#session.unref(); // it does not keep the process
      this.#end();
    }
  }

  #end(): void {
    const { idleConnectionTimeoutMs, pingTimeoutMs } = this.#times;
    if (this.#phase === "open") this.#after(idleConnectionTimeoutMs, () => this.retire());
    // A peer that does not answer the end of a connection holds its socket.
    else this.#after(pingTimeoutMs, () => this.#giveUp("the server does not end the connection"));
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
    this.#after(this.#times.pingTimeoutMs, () => this.#giveUp("PING timed out"));
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

  #giveUp(why: string): void {
    this.destroy(new ConnectError(why, Code.Unavailable));
  }

  #after(ms: number, then: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#phase === "closed" || ms > 0x7fffffff) return; // longer than Node's timers
    this.#timer = setTimeout(then, ms).unref();
  }
}
