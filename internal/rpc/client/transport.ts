import type { DescMessage, DescMethod, DescMethodServerStreaming, MessageShape } from "@bufbuild/protobuf";
import type { Interceptor, Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import type { ClientTls } from "../common/tls.ts";
import type { AnswerBudget } from "./answer-budget.ts";
import { connectSessions, type DialOptions } from "./connect-sessions.ts";
import { type EncodedStreamOptions, encodedStream } from "./encoded-stream.ts";
import { SwitchingSessions } from "./switching-sessions.ts";

export interface SidecarTransportOptions extends DialOptions {
  /** For https: our certificate, and the CA of the server's. */
  readonly tls?: ClientTls;
  /** Default `connect`: half the CPU of `grpc` per unary call. */
  readonly protocol?: "connect" | "grpc";
  /** Largest answer, bytes; over it `exhausted`. Default 16 MiB. */
  readonly readMaxBytes?: number;
  /** Methods with smaller ones: what a message takes when it is decoded may be a hundred times its bytes. */
  readonly small?: SmallAnswers;
  readonly interceptors?: readonly Interceptor[];
  /** What answers may hold while they arrive; over it `exhausted`. For the protocol `connect`. Default: no limit. */
  readonly answers?: AnswerBudget;
}

interface SmallAnswers {
  readonly has: (method: DescMethod) => boolean;
  /** Largest answer, bytes. */
  readonly readMaxBytes: number;
}

/** A transport and the connection under it. */
export interface SidecarConnection extends Disposable {
  readonly transport: Transport;
  /**
   * Calls that begin from now on go over a new connection with this certificate and these CAs; those under way go on
   * where they are, and the old connection closes after the last. @throws Error for what is no PEM, changes nothing
   * then.
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
  const { baseUrl, protocol = "connect", readMaxBytes = 16 * 1024 * 1024, interceptors = [], small } = options;
  const sessions = new SwitchingSessions(connectSessions(options, options.tls), options.answers);
  const common = {
    baseUrl,
    sessionManager: sessions,
    interceptors: [...interceptors, sessions.interceptor()],
    acceptCompression: [],
    // Each takes two bytes of a message, and a hundred in memory.
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

/** For each call one of two transports over the same connection. */
function chosen({ has }: SmallAnswers, small: Transport, large: Transport): Transport {
  return {
    unary: (method, ...call) => (has(method) ? small : large).unary(method, ...call),
    stream: (method, ...call) => (has(method) ? small : large).stream(method, ...call),
  };
}

/**
 * Opens a stream that is cancelled when the loop over it is left, by `break`, `return` or `throw` alike, or when
 * `signal` aborts. Without this the server's handler would continue forever.
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
