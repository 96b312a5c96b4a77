import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls, createSecureContext } from "node:tls";
import { type ClientTls, clientTlsOptions } from "../common/tls.ts";
import { ClientSessions } from "./client-sessions.ts";

/** How much one stream may have on its way to us, bytes: also what we hold of it for a reader that does not read. */
const STREAM_WINDOW_BYTES = 1024 * 1024;

/** Shorter than a sidecar leaves a connection without a call open, so that none ends under a call that begins. */
const IDLE_MS = 45_000;

/** How one server is dialled. */
export interface DialOptions {
  /** `http://host:port` or `https://host:port`. */
  readonly baseUrl: string;
  /** Dial this unix socket instead; `baseUrl` is what the calls name, e.g. `http://localhost`. */
  readonly socketPath?: string;
  /**
   * Go over this instead, e.g. through a tunnel (see `nativeSocket`); called for each connection. It may still be
   * opening.
   */
  readonly dial?: () => Socket;
  /** The name the server's certificate must bear, when it is not the host of `baseUrl`. */
  readonly serverName?: string;
  /** How much one stream may have on its way to us, bytes. Default 1 MiB. */
  readonly window?: number;
  /** After how long a silent connection with open calls is pinged. Default 15 s. */
  readonly pingIntervalMs?: number;
  /** It is cut when it does not answer within this. Default 10 s. */
  readonly pingTimeoutMs?: number;
  /** After how long without a call a connection is closed. Default 45 s. */
  readonly idleMs?: number;
}

/** The connection to one server; it is opened at the first call. `tls`: for https. @throws Error for invalid PEM */
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
    ...(trust && { secureContext: createSecureContext(trust) }),
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
 * Once it is open, an error closes the socket and is not reported: Node would emit it on the HTTP/2 session, and end
 * the process if nothing listens there yet. (Connect listens again only some turns after the handshake, and no longer
 * once it finds the session destroyed.) The calls on it end as cut.
 */
function closeOnError(socket: Socket, opened: "connect" | "secureConnect"): Socket {
  return socket.once(opened, () => void socket.removeAllListeners("error").on("error", () => {}));
}
