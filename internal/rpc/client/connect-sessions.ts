import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls, createSecureContext } from "node:tls";
import { type ClientTls, clientTlsOptions } from "../common/tls.ts";
import { ClientSessions } from "./client-sessions.ts";

/** Flow-control window of a stream, bytes; also bounds what is buffered for a reader that does not read. */
const STREAM_WINDOW_BYTES = 1024 * 1024;

/**
 * Less than the time after which a sidecar closes a connection without calls, so that it closes none as a call begins.
 */
const IDLE_MS = 45_000;

/** Options for connections to one server. */
export interface DialOptions {
  /** `http://host:port` or `https://host:port`. */
  readonly baseUrl: string;
  /** Dials this unix socket instead; `baseUrl` is then only the calls' authority, e.g. `http://localhost`. */
  readonly socketPath?: string;
  /**
   * Returns the socket of each connection, instead of a dial to `baseUrl`, e.g. through a tunnel (see `nativeSocket`).
   * The socket may still be connecting.
   */
  readonly dial?: (() => Socket) | undefined;
  /** The name that the server's certificate must contain. Default: the host of `baseUrl`. */
  readonly serverName?: string | undefined;
  /** Flow-control window of a stream, bytes. Default 1 MiB. */
  readonly window?: number;
  /** Pings a connection with open calls that has been silent for this long, ms. Default 15 s. */
  readonly pingIntervalMs?: number;
  /** Cuts a connection that does not answer a PING within this, ms. Default 10 s. */
  readonly pingTimeoutMs?: number;
  /** Closes a connection that has had no calls for this long, ms. Default 45 s. */
  readonly idleMs?: number;
}

/** Connections to one server; the first call connects. `tls`: for https. @throws Error for invalid PEM */
export function connectSessions(options: DialOptions, tls: ClientTls | undefined): ClientSessions {
  const { baseUrl, socketPath, serverName, dial } = options;
  const { pingIntervalMs = 15_000, pingTimeoutMs = 10_000, idleMs = IDLE_MS } = options;
  const url = new URL(baseUrl);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const isSecure = url.protocol === "https:";
  const port = Number(url.port || (isSecure ? 443 : 80));
  const trust = tls && clientTlsOptions(tls);
  const secure = isSecure && {
    ...trust,
    secureContext: trust && createSecureContext(trust),
    host,
    servername: serverName ?? (isIP(host) ? "" : host),
    ALPNProtocols: ["h2"],
  };
  return new ClientSessions(
    baseUrl,
    { pingIntervalMs, pingTimeoutMs, idleConnectionTimeoutMs: idleMs },
    {
      settings: { initialWindowSize: options.window ?? STREAM_WINDOW_BYTES, enablePush: false },
      createConnection: () => {
        const socket = dial?.() ?? (socketPath ? connect(socketPath) : undefined);
        return secure
          ? closeOnError(connectTls(socket ? { ...secure, socket } : { ...secure, port }), "secureConnect")
          : closeOnError(socket ?? connect(port, host), "connect");
      },
    },
  );
}

/**
 * After the socket has opened, an error closes it and is not reported. Otherwise Node would destroy the HTTP/2 session
 * with the error, and its calls would fail with that; this way they end with CANCEL, as on any connection that is cut.
 */
function closeOnError(socket: Socket, opened: "connect" | "secureConnect"): Socket {
  return socket.once(opened, () => void socket.removeAllListeners("error").on("error", () => {}));
}
