import type {
  DescMessage,
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageShape,
} from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { DomainError } from "../base/errors.ts";
import type { TraceSpan } from "../base/tracing.ts";
import { type SidecarAttachInput, type SidecarAttachOutput, SidecarService } from "../gen/gastown/v1/sidecar_pb.ts";
import { abortOnExit, type SidecarConnection } from "../rpc/client/transport.ts";
import { domainErrorOf } from "../rpc/common/errors.ts";
import { networkFailureOf } from "../rpc/common/network-errors.ts";
import { failureName } from "../rpc/server/trace-calls.ts";
import { callerHeaders } from "./caller-headers.ts";
import type { Actor, EncodedMessage, SessionTerminal } from "./session-backend.ts";

/** Longer than any call of a sidecar; the caller's own deadline arrives as its signal. */
const CALL_MS = 630_000;

/** A caller, or the bridge itself, which has no role of its own. */
type Sender = Pick<Actor, "identity"> & Partial<Actor>;

/** The sidecar of one session, local or remote, for forwarded calls. */
export class SidecarLink implements SessionTerminal {
  readonly #connection: Pick<SidecarConnection, "transport" | "encoded">;

  constructor(connection: Pick<SidecarConnection, "transport" | "encoded">) {
    this.#connection = connection;
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageShape<I>,
    caller: Sender,
    signal: AbortSignal,
  ): Promise<MessageShape<O>> {
    const { transport } = this.#connection;
    const span = spanOf(method, caller);
    try {
      const header = callerHeaders(caller, span);
      const { message } = await transport.unary(method, signal, CALL_MS, header, request as never);
      span?.end();
      return message;
    } catch (err) {
      const why = failure(err, signal);
      span?.end(failureName(why));
      throw why;
    }
  }

  async *stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageShape<I>,
    caller: Actor,
    signal: AbortSignal,
  ): AsyncGenerator<EncodedMessage, void, undefined> {
    const span = spanOf(method, caller);
    const options = { header: callerHeaders(caller, span), signal };
    yield* followed(this.#connection.encoded(method, request, options), signal, span);
  }

  async *attach(
    inputs: AsyncIterable<SidecarAttachInput>,
    caller: Actor,
    signal: AbortSignal,
  ): AsyncGenerator<SidecarAttachOutput, void, undefined> {
    const client = createClient(SidecarService, this.#connection.transport);
    const span = spanOf(SidecarService.method.attach, caller);
    const headers = callerHeaders(caller, span);
    const open = (stop: AbortSignal) => client.attach(inputs, { signal: stop, headers });
    yield* followed(abortOnExit(open, signal), signal, span);
  }
}

/** A client span for a call to the sidecar, below the caller's span. */
function spanOf(method: DescMethod, { trace }: Sender): TraceSpan | undefined {
  const service = method.parent.typeName;
  const attributes = { "rpc.service": service, "rpc.method": method.name };
  return trace?.child(`${service}/${method.name}`, "client", attributes);
}

/** Maps the errors of a stream for callers, and ends the span when the stream ends. */
async function* followed<T>(
  messages: AsyncIterable<T>,
  signal: AbortSignal,
  span: TraceSpan | undefined,
): AsyncGenerator<T, void, undefined> {
  let error: string | undefined;
  try {
    yield* messages;
  } catch (err) {
    const why = failure(err, signal);
    error = failureName(why);
    throw why;
  } finally {
    span?.end(error);
  }
}

/**
 * The error for a failed call: the signal's reason if the caller has left, otherwise a DomainError; a bug is returned
 * unchanged. An untrusted connection to the sidecar, in either direction, is not the fault of the caller's credentials.
 * Errors contain no paths.
 */
function failure(err: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  const kind = networkFailureOf(err)?.kind ?? withoutAnswer(err);
  if (kind === undefined) return domainErrorOf(err);
  const what = kind === "unauthenticated" ? "is not trusted" : "cannot be reached";
  return new DomainError("unavailable", `the session's sidecar ${what} now`, {
    cause: err,
    fields: { session: "away" },
  });
}

/**
 * `unauthenticated`: we refused the server's certificate; a refusal by the sidecar itself has no such cause.
 * `unavailable`: the server refused ours, or closed the connection before its first frame, as after a slow handshake;
 * or this side gave the connection up. Undefined for an answer of the sidecar.
 */
function withoutAnswer(err: unknown): "unauthenticated" | "unavailable" | undefined {
  if (!(err instanceof ConnectError)) return undefined;
  const { cause, code, isWireError } = err;
  if (cause instanceof DomainError && cause.kind === "unauthenticated") return "unauthenticated";
  return code === Code.Unauthenticated || (code === Code.Unavailable && !isWireError) ? "unavailable" : undefined;
}
