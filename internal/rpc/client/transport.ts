import { createConnection } from "node:net";
import { createSecureContext } from "node:tls";
import type { DescMessage, DescMethodServerStreaming, MessageShape } from "@bufbuild/protobuf";
import type { Interceptor, Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { type ClientTls, clientTlsOptions } from "../common/tls.ts";
import { ClientSessions } from "./client-sessions.ts";
import { type EncodedStreamOptions, encodedStream } from "./encoded-stream.ts";
import { SwitchingSessions } from "./switching-sessions.ts";

/** How much one stream may have on its way to us, bytes: also what a server holds for a reader that does not read. */
const STREAM_WINDOW_BYTES = 1024 * 1024;

/** Shorter than a sidecar leaves a connection without a call open, so that none ends under a call that begins. */
const IDLE_MS = 45_000;

export interface SidecarTransportOptions {
  /** `http://host:port` or `https://host:port`. */
  readonly baseUrl: string;
  /** Dial this unix socket instead; `baseUrl` is what the calls name, e.g. `http://localhost`. */
  readonly socketPath?: string;
  /** For https: our certificate, and the CA of the server's. */
  readonly tls?: ClientTls;
  /** The name the server's certificate must bear, when it is not the host of `baseUrl`. */
  readonly serverName?: string;
  /** Default `connect`: half the CPU of `grpc` per unary call. */
  readonly protocol?: "connect" | "grpc";
  /** A silent connection with open calls is asked after this whether it lives. Default 15 s. */
  readonly pingIntervalMs?: number;
  /** It is cut when it does not answer within this. Default 10 s. */
  readonly pingTimeoutMs?: number;
  /** Largest answer, bytes; over it `exhausted`. Default 16 MiB. */
  readonly readMaxBytes?: number;
  readonly interceptors?: readonly Interceptor[];
}

/** A transport and the connection under it. */
export interface SidecarConnection extends Disposable {
  readonly transport: Transport;
  /**
   * Calls that begin from now on go over a new connection with this certificate and these CAs; those under way go on where
   * they are, and the old connection closes after the last. @throws Error for what is no PEM, changes nothing then.
   */
  setTls(tls: ClientTls): void;
  /**
   * The messages of a server stream as they come, undecoded, for passing on. Cancelled when the loop is left.
   * @throws ConnectError as a call through `transport` does; the signal's reason
   */
  encoded<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageShape<I>,
    options: Omit<EncodedStreamOptions, "readMaxBytes">,
  ): AsyncGenerator<Uint8Array, void, undefined>;
  /** Cuts the connection; calls under way fail as cancelled. A later call would open a new one. */
  [Symbol.dispose](): void;
}

/**
 * A client's side of one server over HTTP/2. Connects at the first call and again when needed. It sets no deadlines:
 * give every unary call a `timeoutMs`. Streams are opened through `abortOnExit` only.
 */
export function sidecarTransport(options: SidecarTransportOptions): SidecarConnection {
  const { baseUrl, protocol = "connect", readMaxBytes = 16 * 1024 * 1024, interceptors = [] } = options;
  const sessions = new SwitchingSessions(connect(options, options.tls));
  const common = {
    baseUrl,
    sessionManager: sessions,
    interceptors: [...interceptors, sessions.interceptor()],
    acceptCompression: [],
    readMaxBytes,
  };
  const transport =
    protocol === "grpc" ? createGrpcTransport(common) : createConnectTransport({ ...common, httpVersion: "2" });
  const setTls = (tls: ClientTls) => sessions.switchTo(connect(options, tls));
  const encoded: SidecarConnection["encoded"] = (method, request, given) =>
    encodedStream(sessions, method, request, { ...given, readMaxBytes });
  return { transport, setTls, encoded, [Symbol.dispose]: () => sessions.abort() };
}

function connect(options: SidecarTransportOptions, tls: ClientTls | undefined): ClientSessions {
  const { socketPath } = options;
  const secure = tls && clientTlsOptions(tls);
  return new ClientSessions(options.baseUrl, keepAliveOf(options), {
    settings: { initialWindowSize: STREAM_WINDOW_BYTES, enablePush: false },
    ...(secure && { ...secure, secureContext: createSecureContext(secure) }),
    ...(socketPath !== undefined && { createConnection: () => createConnection(socketPath) }),
    ...(options.serverName !== undefined && { servername: options.serverName }),
  });
}

function keepAliveOf({ pingIntervalMs = 15_000, pingTimeoutMs = 10_000 }: SidecarTransportOptions) {
  return { pingIntervalMs, pingTimeoutMs, idleConnectionTimeoutMs: IDLE_MS };
}

/**
 * Opens a stream that is cancelled when the loop over it is left, by `break`, `return` or `throw` alike, or when
 * `signal` aborts. Without this the server's handler would go on for ever.
 */
export async function* abortOnExit<T>(
  open: (signal: AbortSignal) => AsyncIterable<T>,
  signal?: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  const exit = new AbortController();
  try {
    yield* open(signal ? AbortSignal.any([signal, exit.signal]) : exit.signal);
  } finally {
    exit.abort();
  }
}
