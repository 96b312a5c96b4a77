import type { ClientHttp2Stream, ClientSessionRequestOptions, OutgoingHttpHeaders } from "node:http2";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { raceSignal } from "../../base/abort.ts";
import { mapFailures } from "../common/map-failures.ts";
import { type ConnectionSettings, type ConnectionTimes, ServerConnection } from "./server-connection.ts";
import { keepWholeAnswers } from "./whole-answers.ts";

/** How many connections to open for one call, if each ends before the call begins. */
const MAX_DIALS = 3;

/**
 * The connections to one server, for Connect's transports: one for new calls, opened on demand, and those that close
 * after their last call.
 */
export class ClientSessions {
  /** Scheme, host and port. */
  readonly authority: string;
  /** The authority for an IPv6 address: Node leaves out the brackets. */
  readonly #host: OutgoingHttpHeaders;
  readonly #times: ConnectionTimes;
  readonly #settings: ConnectionSettings | undefined;
  readonly #open = new Set<ServerConnection>();
  /** The connection for new calls. */
  #newest: ServerConnection | undefined;
  #onRetired: (() => void) | undefined;

  /** Default times: no PINGs, 15 s for a PING's answer, closed after 15 minutes without a call. */
  constructor(url: string, times: Partial<ConnectionTimes> = {}, settings?: ConnectionSettings) {
    const defaults = { pingIntervalMs: Infinity, pingTimeoutMs: 15_000, idleConnectionTimeoutMs: 900_000 };
    const { origin, host, hostname } = new URL(url);
    this.authority = origin;
    this.#host = hostname.startsWith("[") ? { ":authority": host } : {};
    this.#times = { ...defaults, ...times };
    this.#settings = settings;
  }

  /** Pings a connection that has been silent for this long, ms. @internal */
  get pingIntervalMs(): number {
    return this.#times.pingIntervalMs;
  }

  /**
   * Begins a call. `options.signal` ends the wait for a connection, not the call.
   * @throws Error if no connection can be opened; the signal's reason
   */
  async request(
    method: string,
    path: string,
    headers: OutgoingHttpHeaders,
    { signal, ...options }: ClientSessionRequestOptions,
  ): Promise<ClientHttp2Stream> {
    for (let dials = 0; dials < MAX_DIALS; dials++) {
      const connection = this.#current();
      const ready = connection.ready();
      if (!(await (signal === undefined ? ready : raceSignal(ready, signal)))) continue;
      try {
        const stream = connection.request({ ...this.#host, ...headers, ":method": method, ":path": path }, options);
        keepWholeAnswers(stream);
        return stream;
      } catch (err) {
        if (connection.takesCalls) throw err;
      }
    }
    throw new ConnectError("every connection ended as soon as it opened", Code.Unavailable);
  }

  /** To be called for each part of a response that was read: the server is alive. */
  notifyResponseByteRead(stream: ClientHttp2Stream): void {
    for (const connection of this.#open) if (connection.has(stream)) connection.alive();
  }

  /** Closes all connections and cancels the calls on them. A later call opens a new connection. */
  abort(reason = new ConnectError("connection aborted", Code.Canceled)): void {
    for (const connection of this.#open) connection.destroy(reason);
  }

  /** No call may begin after this. Calls `onClosed` when the last connection has closed after its last call. */
  retire(onClosed: () => void): void {
    this.#onRetired = onClosed;
    for (const connection of this.#open) connection.retire();
    this.#tellRetired();
  }

  /**
   * Corrects the error of a call whose connection closed. Its stream ends with CANCEL, which Connect reports as if the
   * caller had cancelled; if neither this side nor the server has cancelled the call, the connection was cut.
   */
  interceptor(): Interceptor {
    return (next) => async (req) => {
      const explain = (err: unknown) => (wasCut(err, req.signal) ? this.#cutError(err) : err);
      try {
        const res = await next(req);
        return res.stream ? { ...res, message: mapFailures(res.message, explain) } : res;
      } catch (err) {
        throw explain(err);
      }
    };
  }

  #current(): ServerConnection {
    if (this.#newest?.takesCalls) return this.#newest;
    const connection = new ServerConnection(this.authority, this.#times, this.#settings, (ended) => {
      this.#open.delete(ended);
      this.#tellRetired();
    });
    this.#open.add(connection);
    this.#newest = connection;
    if (this.#onRetired) connection.retire();
    return connection;
  }

  #tellRetired(): void {
    if (this.#open.size === 0) this.#onRetired?.();
  }

  #cutError(cause: unknown): ConnectError {
    if (this.#newest?.isHeard) {
      return new ConnectError("the connection was cut", Code.Unavailable, undefined, undefined, cause);
    }
    // Node's TLS server sends no alert for a client certificate that it refuses: it closes after the handshake.
    const [message, code] = this.authority.startsWith("https:")
      ? [
          "the server closed the connection after the handshake: it may not accept this certificate",
          Code.Unauthenticated,
        ]
      : ["the server closed the connection at once: it may not speak plaintext HTTP/2", Code.Unavailable];
    return new ConnectError(message, code, undefined, undefined, cause);
  }
}

function wasCut(err: unknown, signal: AbortSignal): boolean {
  return err instanceof ConnectError && err.code === Code.Canceled && !err.isWireError && !signal.aborted;
}
