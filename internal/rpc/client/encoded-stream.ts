import { addAbortListener } from "node:events";
import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from "node:http2";
import { setImmediate } from "node:timers/promises";
import { type DescMessage, type DescMethodServerStreaming, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  codeFromHttpStatus,
  endStreamFlag,
  endStreamFromJson,
  errorFromJsonBytes,
} from "@connectrpc/connect/protocol-connect";
import { Envelopes, enveloped } from "./envelopes.ts";
import type { SwitchingSessions } from "./switching-sessions.ts";

/** Opens streams on a connection to one server. */
type Connections = Pick<SwitchingSessions, "request" | "notifyResponseByteRead">;

/** The most bytes to read of an error body. */
const MAX_ERROR_BYTES = 64 * 1024;
/** After this long, yield to other work of the process: a chunk may contain a hundred thousand messages. */
const SLICE_MS = 5;

export interface EncodedStreamOptions {
  readonly header?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** The largest message, bytes; a larger one fails with `exhausted`. */
  readonly readMaxBytes: number;
}

/**
 * The messages of a server stream as they arrive, undecoded, for forwarding. Leaving the loop or aborting the signal
 * cancels the call.
 * @throws ConnectError like a Connect client, or the signal's reason
 */
export async function* encodedStream<I extends DescMessage, O extends DescMessage>(
  sessions: Connections,
  method: DescMethodServerStreaming<I, O>,
  request: MessageShape<I>,
  { header = {}, signal, readMaxBytes }: EncodedStreamOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  signal.throwIfAborted();
  const path = `/${method.parent.typeName}/${method.name}`;
  const headers = { ...header, "content-type": "application/connect+proto", "connect-protocol-version": "1" };
  const stream = await sessions.request("POST", path, headers, { signal }).catch((err: unknown) => {
    signal.throwIfAborted();
    throw err instanceof ConnectError ? err : cut(err);
  });
  const cancel = () => stream.close(constants.NGHTTP2_CANCEL);
  using _abort = addAbortListener(signal, cancel);
  try {
    stream.end(enveloped(toBinary(method.input, request)));
    const response = await responseOf(stream);
    if (response[":status"] !== 200) throw await refusalOf(stream, response[":status"] ?? 0);
    yield* messagesOf(stream, sessions, readMaxBytes);
  } catch (err) {
    signal.throwIfAborted();
    throw err instanceof ConnectError || !isCut(err) ? err : cut(err);
  } finally {
    if (!stream.closed) cancel();
  }
}

async function* messagesOf(
  stream: ClientHttp2Stream,
  sessions: Connections,
  readMaxBytes: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const envelopes = new Envelopes(readMaxBytes);
  let until = performance.now() + SLICE_MS;
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    sessions.notifyResponseByteRead(stream);
    for (const { flags, payload } of envelopes.push(chunk as Buffer)) {
      if ((flags & endStreamFlag) !== 0) return endOf(payload);
      yield payload;
      if (performance.now() < until) continue;
      await setImmediate();
      until = performance.now() + SLICE_MS;
    }
  }
  throw cut();
}

function endOf(payload: Uint8Array): void {
  const { error } = endStreamFromJson(payload);
  if (error !== undefined) throw error;
}

function responseOf(stream: ClientHttp2Stream): Promise<IncomingHttpHeaders & { readonly ":status"?: number }> {
  return new Promise((resolve, reject) => {
    stream.once("response", resolve);
    stream.once("error", reject);
    stream.once("close", () => reject(cut()));
  });
}

async function refusalOf(stream: ClientHttp2Stream, status: number): Promise<ConnectError> {
  const fallback = new ConnectError(`HTTP ${status}`, codeFromHttpStatus(status));
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    chunks.push(chunk as Buffer);
    size += (chunk as Buffer).length;
    if (size > MAX_ERROR_BYTES) return fallback;
  }
  return size === 0 ? fallback : errorFromJsonBytes(Buffer.concat(chunks), undefined, fallback);
}

function isCut(err: unknown): boolean {
  const code = err instanceof Error && "code" in err ? String(err.code) : "";
  return code.startsWith("ERR_HTTP2_") || code === "ERR_STREAM_PREMATURE_CLOSE";
}

function cut(cause?: unknown): ConnectError {
  return new ConnectError("the connection was cut", Code.Unavailable, undefined, undefined, cause);
}
