import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { Http2SessionManager } from "@connectrpc/connect-node";
import { mapFailures } from "../common/map-failures.ts";
import { keepWholeAnswers } from "./whole-answers.ts";

/** How much all streams of a connection together may have on their way to us, bytes. */
const CONNECTION_WINDOW_BYTES = 8 * 1024 * 1024;
/** `NGHTTP2_CANCEL` */
const CANCEL = 8;
/** A server sends its settings first; one that has not done so after this is given up. */
const SETTINGS_MS = 5000;

/**
 * connect-node's connection to one server, with what it does not do: a wide window, and the truth about cut
 * connections.
 */
export class ClientSessions extends Http2SessionManager {
  readonly #seen = new WeakSet<ClientHttp2Session>();
  readonly #open = new Set<ClientHttp2Session>();
  #onRetired: (() => void) | undefined;
  /** The server's first frame has come on the newest connection. */
  #heard = false;

  /** How long to wait for its settings, the same as for the answer to a PING. */
  readonly #settingsMs: number;

  constructor(...[authority, options, settings]: ConstructorParameters<typeof Http2SessionManager>) {
    super(authority, options, settings);
    this.#settingsMs = Math.min(SETTINGS_MS, options?.pingTimeoutMs ?? SETTINGS_MS);
  }

  override async request(...args: Parameters<Http2SessionManager["request"]>): Promise<ClientHttp2Stream> {
    const stream = await super.request(...args);
    const { session } = stream;
    if (session && !this.#seen.has(session as ClientHttp2Session)) this.#adopt(session as ClientHttp2Session);
    keepWholeAnswers(stream);
    return stream;
  }

  #adopt(session: ClientHttp2Session): void {
    this.#seen.add(session);
    this.#open.add(session);
    session.once("close", () => {
      this.#open.delete(session);
      this.#tellRetired();
    });
    // At a GOAWAY Connect destroys an idle connection with an error. When another call begins before that is emitted it
    // does not listen any more, and it must not crash the process.
    session.on("error", () => {});
    if (this.#onRetired) session.close();
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    this.#heard = false;
    const silent = giveUpAfter(session, this.#settingsMs);
    session.once("remoteSettings", () => {
      this.#heard = true;
      clearTimeout(silent);
    });
  }

  /** No further calls begin here: it closes when the last one has ended, and reports that. */
  retire(onClosed: () => void): void {
    this.#onRetired = onClosed;
    for (const session of this.#open) session.close();
    this.#tellRetired();
  }

  #tellRetired(): void {
    if (this.#open.size === 0) this.#onRetired?.();
  }

  /**
   * A connection that closes under a call makes its stream end with CANCEL, which Connect reports as if the caller had
   * cancelled. Unless this side or the server's answer says so, it was cut.
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

  #cutError(cause: unknown): ConnectError {
    if (this.#heard) return new ConnectError("the connection was cut", Code.Unavailable, undefined, undefined, cause);
    // Node's TLS server sends no alert for a client certificate it does not accept: it closes after the handshake.
    const [message, code] = this.authority.startsWith("https:")
      ? [
          "the server closed the connection after the handshake: it may not accept this certificate",
          Code.Unauthenticated,
        ]
      : ["the server closed the connection at once: it may not speak plaintext HTTP/2", Code.Unavailable];
    return new ConnectError(message, code, undefined, undefined, cause);
  }
}

/**
 * A connection that is reset right after its handshake is not always reported: Node may neither read nor write on it
 * any more, and emit nothing.
 */
function giveUpAfter(session: ClientHttp2Session, ms: number): NodeJS.Timeout {
  const silent = setTimeout(() => {
    const err = new ConnectError("the server sends no settings", Code.Unavailable);
    session.destroy(err, CANCEL);
  }, ms);
  session.once("close", () => clearTimeout(silent));
  return silent.unref();
}

function wasCut(err: unknown, signal: AbortSignal): boolean {
  return err instanceof ConnectError && err.code === Code.Canceled && !err.isWireError && !signal.aborted;
}
