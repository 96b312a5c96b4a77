import type { DescMessage, DescMethodServerStreaming, DescMethodUnary, MessageShape } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { type SidecarAttachInput, type SidecarAttachOutput, SidecarService } from "../gen/gastown/v1/sidecar_pb.ts";
import { abortOnExit, type SidecarConnection } from "../rpc/client/transport.ts";
import { domainErrorOf } from "../rpc/common/errors.ts";
import { senderHeaders } from "./sender-headers.ts";
import type { Caller, EncodedMessage, SessionTerminal } from "./session-backend.ts";

/** Longer than any call of a sidecar takes; what the caller allows arrives by its signal. */
const CALL_MS = 630_000;

/** A caller, or the bridge itself, which has no role of its own. */
type Sender = Pick<Caller, "identity"> & Partial<Caller>;

/** The sidecar of one session, wherever it is, for calls that are passed through. */
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
    try {
      const { message } = await transport.unary(method, signal, CALL_MS, senderHeaders(caller), request as never);
      return message;
    } catch (err) {
      throw failure(err, signal);
    }
  }

  async *stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageShape<I>,
    caller: Caller,
    signal: AbortSignal,
  ): AsyncGenerator<EncodedMessage, void, undefined> {
    try {
      yield* this.#connection.encoded(method, request, { header: senderHeaders(caller), signal });
    } catch (err) {
      throw failure(err, signal);
    }
  }

  async *attach(
    inputs: AsyncIterable<SidecarAttachInput>,
    caller: Caller,
    signal: AbortSignal,
  ): AsyncGenerator<SidecarAttachOutput, void, undefined> {
    const client = createClient(SidecarService, this.#connection.transport);
    const open = (stop: AbortSignal) => client.attach(inputs, { signal: stop, headers: senderHeaders(caller) });
    try {
      yield* abortOnExit(open, signal);
    } catch (err) {
      throw failure(err, signal);
    }
  }
}

/** What a failed call means: the reason of a caller who left, a DomainError, or a bug as it is. */
function failure(err: unknown, signal: AbortSignal): unknown {
  return signal.aborted ? signal.reason : domainErrorOf(err);
}
