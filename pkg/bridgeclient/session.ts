import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  GetSessionResponse,
  SendInputResponse,
  SessionEvent,
  SessionStatus,
  StopSessionResponse,
} from "../../internal/gen/bridge/v1/bridge_pb.ts";
import type {
  SidecarNudgeRequestSchema,
  SidecarNudgeResponse,
  SidecarOutputUpdate,
  SidecarPeekRequestSchema,
  SidecarPeekResponse,
  SidecarRespondRequestSchema,
  SidecarRespondResponse,
  SidecarSendKeysRequestSchema,
  SidecarSendKeysResponse,
  SidecarStatusResponse,
  SidecarWatchRequestSchema,
} from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { invalidOption } from "./errors.ts";
import { type EventsDeps, type EventsOptions, followEvents } from "./events.ts";
import type { CallOptions } from "./options.ts";
import type { BridgeRpcs } from "./rpcs.ts";

/** @throws BridgeError `invalid_argument` unless `given` is a whole number of 64 bits, 0 or more */
function seqOf(given: bigint | number): bigint {
  const isSeq =
    typeof given === "bigint" ? given >= 0n && given < 2n ** 64n : Number.isSafeInteger(given) && given >= 0;
  if (!isSeq) throw invalidOption(`afterSeq is a whole number from 0, not ${given}`);
  return BigInt(given);
}

/** One session of a bridge. Creating this object sends nothing; each method makes a call. */
export class Session {
  readonly id: string;
  readonly #client: BridgeRpcs;
  readonly #events: EventsDeps;

  /** @internal */
  constructor(client: BridgeRpcs, id: string, events: EventsDeps) {
    this.#client = client;
    this.#events = events;
    this.id = id;
  }

  /** The session as the bridge knows it. */
  get(options?: CallOptions): Promise<GetSessionResponse> {
    return this.#client.getSession({ sessionId: this.id }, options);
  }

  async getStatus(options?: CallOptions): Promise<SessionStatus> {
    return (await this.get(options)).status;
  }

  /** Gives the agent a message exactly once, even if the connection breaks meanwhile. */
  sendInput(
    text: string,
    { idempotencyKey = "", ...options }: CallOptions & { readonly idempotencyKey?: string } = {},
  ): Promise<SendInputResponse> {
    return this.#client.sendInput({ sessionId: this.id, text, idempotencyKey }, options);
  }

  /** Stops the agent. `force`: kill it at once. */
  stop({ force = false, ...options }: CallOptions & { readonly force?: boolean } = {}): Promise<StopSessionResponse> {
    return this.#client.stopSession({ sessionId: this.id, force }, options);
  }

  /**
   * The session's events in order, each once. Reconnects by itself and continues after the last event that was handled;
   * an event counts as handled when the loop asks for the next one. A BUFFER_OVERFLOW event with a `gap` stands for
   * missing events. Ends after the last event (`done`); leaving the loop cancels the stream.
   * @throws BridgeError if the bridge refuses for good, e.g. `not_found`; the signal's reason
   */
  events(options: EventsOptions = {}): AsyncGenerator<SessionEvent, void, undefined> {
    const { subscriberId = "", afterSeq, epoch = "", signal } = options;
    const after = afterSeq === undefined ? undefined : seqOf(afterSeq);
    const start = { sessionId: this.id, subscriberId, epoch, afterSeq: after };
    return followEvents(this.#events, start, { signal, acknowledge: subscriberId !== "" });
  }

  peek(
    request: MessageInitShape<typeof SidecarPeekRequestSchema> = {},
    options?: CallOptions,
  ): Promise<SidecarPeekResponse> {
    return this.#client.peek({ sessionId: this.id, request }, options);
  }

  /** The state of the agent as its sidecar reports it. */
  status(options?: CallOptions): Promise<SidecarStatusResponse> {
    return this.#client.status({ sessionId: this.id }, options);
  }

  watchOutput(
    request: MessageInitShape<typeof SidecarWatchRequestSchema> = {},
    options?: Pick<CallOptions, "signal">,
  ): AsyncGenerator<SidecarOutputUpdate, void, undefined> {
    return this.#client.watchOutput({ sessionId: this.id, request }, options);
  }

  nudge(
    request: MessageInitShape<typeof SidecarNudgeRequestSchema>,
    options?: CallOptions,
  ): Promise<SidecarNudgeResponse> {
    return this.#client.nudge({ sessionId: this.id, request }, options);
  }

  /** The receipt of a nudge. */
  getNudge(requestId: string, options?: CallOptions): Promise<SidecarNudgeResponse> {
    return this.#client.getNudge({ sessionId: this.id, request: { requestId } }, options);
  }

  /** Cancels a nudge that is still queued. */
  cancelNudge(requestId: string, options?: CallOptions): Promise<SidecarNudgeResponse> {
    return this.#client.cancelNudge({ sessionId: this.id, request: { requestId } }, options);
  }

  sendKeys(
    request: MessageInitShape<typeof SidecarSendKeysRequestSchema>,
    options?: CallOptions,
  ): Promise<SidecarSendKeysResponse> {
    return this.#client.sendKeys({ sessionId: this.id, request }, options);
  }

  /** Answers a dialog. */
  respond(
    request: MessageInitShape<typeof SidecarRespondRequestSchema>,
    options?: CallOptions,
  ): Promise<SidecarRespondResponse> {
    return this.#client.respond({ sessionId: this.id, request }, options);
  }
}
