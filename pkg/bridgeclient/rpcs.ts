import { randomUUID } from "node:crypto";
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import * as pb from "../../internal/gen/bridge/v1/bridge_pb.ts";
import type * as sidecar from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { type EventsDeps, followEvents } from "./events.ts";
import type { CallOptions, TimeoutOptions } from "./options.ts";
import { once, type RetryingCalls } from "./retrying-calls.ts";

type Init<T extends DescMessage> = MessageInitShape<T>;
/** Streams have no deadline. */
type StreamOptions = Pick<CallOptions, "signal">;
type Stream<T> = AsyncGenerator<T, void, undefined>;

/** How long the bridge waits for a nudge whose request sets no timeout, ms. */
const DEFAULT_NUDGE_MS = 75_000;

/** @internal */
export interface RpcsDeps {
  readonly calls: RetryingCalls;
  readonly events: EventsDeps;
}

/**
 * The RPCs of BridgeService. `proto/bridge/v1/bridge.proto` documents each RPC, its fields and its errors. Each RPC
 * rejects with a BridgeError, or with the reason of the caller's signal. Leaving the loop over a stream cancels it.
 *
 * Retried after a transient failure, within the deadline: every RPC that only reads, `startSession`, `stopSession`,
 * `ackEvents`, `cancelNudge`, and `sendInput` and `nudge`, which always carry an idempotency key. Never retried:
 * `sendKeys`, `respond`, `attach`.
 */
export class BridgeRpcs {
  readonly #methods = pb.BridgeService.method;
  readonly #calls: RetryingCalls;
  readonly #events: EventsDeps;
  readonly #timeouts: Required<TimeoutOptions>;

  /** @internal */
  constructor({ calls, events }: RpcsDeps, timeouts: Required<TimeoutOptions>) {
    this.#calls = calls;
    this.#timeouts = timeouts;
    this.#events = events;
  }

  startSession(
    request: Init<typeof pb.StartSessionRequestSchema>,
    options?: CallOptions,
  ): Promise<pb.StartSessionResponse> {
    return this.#repeatable(this.#methods.startSession, request, this.#timeouts.startSessionMs, options);
  }

  stopSession(
    request: Init<typeof pb.StopSessionRequestSchema>,
    options?: CallOptions,
  ): Promise<pb.StopSessionResponse> {
    return this.#repeatable(this.#methods.stopSession, request, this.#timeouts.stopSessionMs, options);
  }

  getSession(request: Init<typeof pb.GetSessionRequestSchema>, options?: CallOptions): Promise<pb.GetSessionResponse> {
    return this.#read(this.#methods.getSession, request, options);
  }

  listSessions(
    request: Init<typeof pb.ListSessionsRequestSchema> = {},
    options?: CallOptions,
  ): Promise<pb.ListSessionsResponse> {
    return this.#read(this.#methods.listSessions, request, options);
  }

  /** Adds an `idempotencyKey` if the request has none, so that a retry does not give the agent the input twice. */
  sendInput(request: Init<typeof pb.SendInputRequestSchema>, options?: CallOptions): Promise<pb.SendInputResponse> {
    const given = create(pb.SendInputRequestSchema, request);
    const sent = { ...given, idempotencyKey: given.idempotencyKey || randomUUID() };
    return this.#repeatable(this.#methods.sendInput, sent, this.#timeouts.sendInputMs, options);
  }

  /**
   * A session's events in order, each once; after a broken connection the stream continues after the last event that
   * was delivered. Acknowledge them with `ackEvents`, or use `session(id).events()`, which acknowledges them by itself.
   */
  streamEvents(
    request: Init<typeof pb.StreamEventsRequestSchema>,
    options: StreamOptions = {},
  ): Stream<pb.SessionEvent> {
    const { sessionId, subscriberId, afterSeq, epoch } = create(pb.StreamEventsRequestSchema, request);
    return followEvents(this.#events, { sessionId, subscriberId, afterSeq, epoch }, { ...options, acknowledge: false });
  }

  health(request: Init<typeof pb.HealthRequestSchema> = {}, options?: CallOptions): Promise<pb.HealthResponse> {
    return this.#read(this.#methods.health, request, options);
  }

  listProviders(
    request: Init<typeof pb.ListProvidersRequestSchema> = {},
    options?: CallOptions,
  ): Promise<pb.ListProvidersResponse> {
    return this.#read(this.#methods.listProviders, request, options);
  }

  ackEvents(request: Init<typeof pb.AckEventsRequestSchema>, options?: CallOptions): Promise<pb.AckEventsResponse> {
    return this.#read(this.#methods.ackEvents, request, options);
  }

  watchSessions(
    request: Init<typeof pb.WatchSessionsRequestSchema> = {},
    { signal }: StreamOptions = {},
  ): Stream<pb.SessionUpdate> {
    return this.#calls.stream(this.#methods.watchSessions, once(request), signal);
  }

  peek(request: Init<typeof pb.PeekRequestSchema>, options?: CallOptions): Promise<sidecar.SidecarPeekResponse> {
    return this.#read(this.#methods.peek, request, options);
  }

  status(request: Init<typeof pb.StatusRequestSchema>, options?: CallOptions): Promise<sidecar.SidecarStatusResponse> {
    return this.#read(this.#methods.status, request, options);
  }

  watchOutput(
    request: Init<typeof pb.WatchOutputRequestSchema>,
    { signal }: StreamOptions = {},
  ): Stream<sidecar.SidecarOutputUpdate> {
    return this.#calls.stream(this.#methods.watchOutput, once(request), signal);
  }

  /** Adds a `requestId` if the request has none, so that a retry types nothing twice. */
  nudge(request: Init<typeof pb.NudgeRequestSchema>, options?: CallOptions): Promise<sidecar.SidecarNudgeResponse> {
    const sent = create(pb.NudgeRequestSchema, request);
    const nudge = sent.request && { ...sent.request, requestId: sent.request.requestId || randomUUID() };
    const waitsMs = Number(nudge?.timeoutMs ?? 0) || DEFAULT_NUDGE_MS;
    const withId = { ...sent, request: nudge };
    return this.#repeatable(this.#methods.nudge, withId, waitsMs + this.#timeouts.nudgeMarginMs, options);
  }

  getNudge(
    request: Init<typeof pb.GetNudgeRequestSchema>,
    options?: CallOptions,
  ): Promise<sidecar.SidecarNudgeResponse> {
    return this.#read(this.#methods.getNudge, request, options);
  }

  cancelNudge(
    request: Init<typeof pb.CancelNudgeRequestSchema>,
    options?: CallOptions,
  ): Promise<sidecar.SidecarNudgeResponse> {
    return this.#read(this.#methods.cancelNudge, request, options);
  }

  sendKeys(
    request: Init<typeof pb.SendKeysRequestSchema>,
    options?: CallOptions,
  ): Promise<sidecar.SidecarSendKeysResponse> {
    return this.#single(this.#methods.sendKeys, request, options);
  }

  respond(
    request: Init<typeof pb.RespondRequestSchema>,
    options?: CallOptions,
  ): Promise<sidecar.SidecarRespondResponse> {
    return this.#single(this.#methods.respond, request, options);
  }

  /** Attaches a person's terminal to a session. The first request is a `hello` that names the session. */
  attach(
    requests: AsyncIterable<Init<typeof pb.AttachRequestSchema>>,
    { signal }: StreamOptions = {},
  ): Stream<sidecar.SidecarAttachOutput> {
    return this.#calls.stream(this.#methods.attach, requests, signal);
  }

  #repeatable<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: Init<I>,
    timeoutMs: number,
    options?: CallOptions,
  ): Promise<MessageShape<O>> {
    return this.#calls.unary(method, request, { timeoutMs, repeatable: true }, options);
  }

  #read<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: Init<I>,
    options?: CallOptions,
  ): Promise<MessageShape<O>> {
    return this.#repeatable(method, request, this.#timeouts.defaultMs, options);
  }

  #single<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: Init<I>,
    options?: CallOptions,
  ): Promise<MessageShape<O>> {
    return this.#calls.unary(method, request, { timeoutMs: this.#timeouts.defaultMs, repeatable: false }, options);
  }
}
