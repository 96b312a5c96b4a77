import type { DescMessage, DescMethod, DescMethodServerStreaming, MessageShape } from "@bufbuild/protobuf";
import type { Interceptor, Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import type { ClientTls } from "../common/tls.ts";
import { connectSessions, type DialOptions } from "./connect-sessions.ts";
import { type EncodedStreamOptions, encodedStream } from "./encoded-stream.ts";
import type { ResponseBudget } from "./response-budget.ts";
import { SwitchingSessions } from "./switching-sessions.ts";

export interface SidecarTransportOptions extends DialOptions {
  /** For https: our certificate, and the CA of the server. */
  readonly tls?: ClientTls | undefined;
  /** Default `connect`, which takes half the CPU of `grpc` per unary call. */
  readonly protocol?: "connect" | "grpc";
  /** The largest response message, bytes; a larger one fails with `exhausted`. Default 16 MiB. */
  readonly readMaxBytes?: number;
  /** Methods with a lower limit: a decoded message may take a hundred times its encoded size. */
  readonly small?: SmallAnswers;
  readonly interceptors?: readonly Interceptor[];
  /**
   * Bounds the memory of responses while they arrive; beyond it, calls fail with `exhausted`. Only for the protocol
   * `connect`. Default: no limit.
   */
  readonly responseBudget?: ResponseBudget;
}

interface SmallAnswers {
  readonly has: (method: DescMethod) => boolean;
  /** The largest response message, bytes. */
  readonly readMaxBytes: number;
}

/** A transport with its connections. */
export interface SidecarConnection extends Disposable {
  readonly transport: Transport;
  /**
   * Uses this certificate and these CAs for new calls, on a new connection; calls in progress continue, and the old
   * connection closes after the last.
   * @throws Error for invalid PEM; the current files then stay in use
   */
  setTls(tls: ClientTls): void;
  /**
   * The messages of a server stream as they arrive, undecoded, for forwarding. Leaving the loop cancels the call.
   * @throws ConnectError like a call on `transport`, or the signal's reason
   */
  encoded<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageShape<I>,
    options: Omit<EncodedStreamOptions, "readMaxBytes">,
  ): AsyncGenerator<Uint8Array, void, undefined>;
  /** Closes the connections; calls in progress fail as cancelled. A later call would open a new connection. */
  [Symbol.dispose](): void;
}

/**
 * A client of one server over HTTP/2. Connects at the first call, and again when needed. It sets no deadlines: give
 * every unary call a `timeoutMs`, and open streams only with `abortOnExit`.
 */
export function sidecarTransport(options: SidecarTransportOptions): SidecarConnection {
  const { baseUrl, protocol = "connect", readMaxBytes = 16 * 1024 * 1024, interceptors = [], small } = options;
  const sessions = new SwitchingSessions(connectSessions(options, options.tls), options.responseBudget);
  const common = {
    baseUrl,
    sessionManager: sessions,
    interceptors: [...interceptors, sessions.interceptor()],
    acceptCompression: [],
    // An unknown field takes two bytes of a message, and a hundred in memory.
    binaryOptions: { readUnknownFields: false },
  };
  const within = (maxBytes: number) => {
    const limited = { ...common, readMaxBytes: maxBytes };
    return protocol === "grpc"
      ? createGrpcTransport(limited)
      : createConnectTransport({ ...limited, httpVersion: "2" });
  };
  const all = within(readMaxBytes);
  const transport = small === undefined ? all : chosen(small, within(small.readMaxBytes), all);
  const maxOf = (method: DescMethod) => (small?.has(method) ? small.readMaxBytes : readMaxBytes);
  const setTls = (tls: ClientTls) => sessions.switchTo(connectSessions(options, tls));
  const encoded: SidecarConnection["encoded"] = (method, request, given) =>
    encodedStream(sessions, method, request, { ...given, readMaxBytes: maxOf(method) });
  return { transport, setTls, encoded, [Symbol.dispose]: () => sessions.abort() };
}

/** Chooses one of two transports on the same connection for each call. */
function chosen({ has }: SmallAnswers, small: Transport, large: Transport): Transport {
  return {
    unary: (method, ...call) => (has(method) ? small : large).unary(method, ...call),
    stream: (method, ...call) => (has(method) ? small : large).stream(method, ...call),
  };
}

/**
 * Opens a stream that is cancelled when the loop over it is left, by `break`, `return` or `throw`, or when `signal` is
 * aborted. Otherwise the server's handler would continue without end.
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
