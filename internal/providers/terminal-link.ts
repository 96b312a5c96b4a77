import type { DescMessage, DescMethodServerStreaming, DescMethodUnary, MessageShape } from "@bufbuild/protobuf";
import { type CallOptions, createClient } from "@connectrpc/connect";
import { senderHeaders } from "../bridge/sender-headers.ts";
import type { Caller, EncodedMessage, SessionTerminal } from "../bridge/session-backend.ts";
import { type SidecarAttachInput, type SidecarAttachOutput, SidecarService } from "../gen/gastown/v1/sidecar_pb.ts";
import { abortOnExit, type SidecarConnection } from "../rpc/client/transport.ts";

/** The longest that any call of a sidecar takes, and some more. */
const CALL_MS = 630_000;

export interface TerminalLinkDeps {
  readonly connection: SidecarConnection;
  /** What a failed call means: a DomainError, or a bug as it is. */
  readonly toError: (err: unknown) => unknown;
}

/** The sidecar of one session at its unix socket, for calls that are passed through. */
export class TerminalLink implements SessionTerminal {
  readonly #deps: TerminalLinkDeps;

  constructor(deps: TerminalLinkDeps) {
    this.#deps = deps;
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageShape<I>,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<MessageShape<O>> {
    const { transport } = this.#deps.connection;
    try {
      const { message } = await transport.unary(method, signal, CALL_MS, senderHeaders(caller), request as never);
      return message;
    } catch (err) {
      throw this.#errorOf(err, signal);
    }
  }

  async *stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageShape<I>,
    caller: Caller,
    signal: AbortSignal,
  ): AsyncGenerator<EncodedMessage, void, undefined> {
    try {
      yield* this.#deps.connection.encoded(method, request, { header: senderHeaders(caller), signal });
    } catch (err) {
      throw this.#errorOf(err, signal);
    }
  }

  async *attach(
    inputs: AsyncIterable<SidecarAttachInput>,
    caller: Caller,
    signal: AbortSignal,
  ): AsyncGenerator<SidecarAttachOutput, void, undefined> {
    const client = createClient(SidecarService, this.#deps.connection.transport);
    const open = (stop: AbortSignal) => {
      const options: CallOptions = { signal: stop, headers: senderHeaders(caller) };
      return client.attach(inputs, options);
    };
    try {
      yield* abortOnExit(open, signal);
    } catch (err) {
      throw this.#errorOf(err, signal);
    }
  }

  #errorOf(err: unknown, signal: AbortSignal): unknown {
    return signal.aborted ? signal.reason : this.#deps.toError(err);
  }
}
