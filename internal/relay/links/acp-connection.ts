import { raceSignal, withTimeout } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { promptBlocks } from "../acp/acp-turn.ts";
import { errorFrame, METHOD_NOT_FOUND, type RpcFrame, readFrame } from "../acp/json-rpc.ts";
import { type ExactJson, isObject, type JsonObject, member, writeJson } from "../acp/json-text.ts";
import type { PermissionOutcome } from "../acp/permission-choice.ts";
import { type FailureReason, failure } from "../acp/result-parts.ts";
import { ProtocolViolation, RpcCalls, RpcFailure } from "../acp/rpc-calls.ts";
import { answerOfError } from "../acp/sampling-answer.ts";
import { AgentLost } from "../lanes/agent-lost.ts";
import type { LinkAnswer, Prompt } from "../lanes/link.ts";
import type { PermissionRequest } from "../lanes/permissions.ts";
import type { Progress } from "../lanes/progress.ts";
import type { RelayMetrics } from "../lanes/relay-metrics.ts";
import type { ChannelEnd } from "./channel-end.ts";
import type { FrameChannel } from "./frame-channel.ts";
import { InvalidFrames } from "./invalid-frames.ts";

export interface AcpDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: RelayMetrics;
  readonly progress: Progress;
  readonly permit: (request: PermissionRequest, signal: AbortSignal) => Promise<PermissionOutcome>;
}

export interface AcpOptions {
  readonly sessionId: string;
  readonly role: string;
  readonly agentId: string;
  readonly connectionId: string;
  /** The directory for `session/new`, an absolute path. */
  readonly cwd: string;
  readonly createTimeoutMs: number;
  /** The longest text of an answer, in bytes. */
  readonly maxMessageBytes: number;
}

/** The part of a link that depends on the protocol's version. */
export interface AcpVersion {
  readonly dialect: "acp" | "acp2";
  /** The parameters of `initialize`. */
  readonly client: JsonObject;
  /** Called with the parameters of each `session/update`. */
  updated(params: JsonObject): void;
  /** The permission that the agent requests; undefined: the request is not of the open session and turn. */
  permissionIn(params: JsonObject): PermissionRequest | undefined;
}

type Id = string | number;

const TOO_MANY_INVALID = 4400;
/** The most permissions that are requested at a time; more are refused. */
const MOST_PERMISSIONS = 32;

/** The frames of an ACP agent: calls to it, its updates, and its requests for permission. Other calls are refused. */
export class AcpConnection {
  readonly calls: RpcCalls;
  readonly #deps: AcpDeps;
  readonly #options: AcpOptions;
  readonly #channel: FrameChannel;
  readonly #version: AcpVersion;
  readonly #gone = new AbortController();
  readonly #invalid = new InvalidFrames();
  /** Open requests for permission. */
  readonly #asking = new Map<Id, AbortController>();
  #lastFrameMs: number;
  #initialized: Promise<ExactJson> | undefined;
  /** Aborted when the agent is asked to end the turn. */
  #asksNoMore = new AbortController();
  /** Permissions are requested until this signal is aborted. */
  #asks: AbortSignal = AbortSignal.abort();

  constructor(deps: AcpDeps, options: AcpOptions, channel: FrameChannel, version: AcpVersion) {
    this.#deps = deps;
    this.#options = options;
    this.#channel = channel;
    this.#version = version;
    this.calls = new RpcCalls((text) => this.#send(text));
    this.#lastFrameMs = deps.clock.monotonicMs();
    channel.onFrame = (text) => this.#came(text);
    const onEnd = () => this.#gone.abort(new AgentLost((channel.ended.reason as ChannelEnd).why));
    if (channel.ended.aborted) onEnd();
    else channel.ended.addEventListener("abort", onEnd, { once: true });
  }

  get lastFrameMs(): number {
    return this.#channel.isHeld ? this.#deps.clock.monotonicMs() : this.#lastFrameMs;
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  close(code: number, reason: string): void {
    this.#channel.close(code, reason);
  }

  /** The response to `initialize`, which is called once. */
  initialize(): Promise<ExactJson> {
    this.#initialized ??= this.calls.call("initialize", this.#version.client);
    this.#initialized.catch(() => {});
    return this.#initialized;
  }

  /**
   * Waits for a session that is being opened. A failure becomes the work's answer: the agent has not seen the work. A
   * session that opens after the timeout is not used.
   */
  async opened<T>(
    opening: Promise<T>,
    signal: AbortSignal,
  ): Promise<{ readonly session: T } | { readonly answer: LinkAnswer }> {
    const { createTimeoutMs } = this.#options;
    try {
      const ready = raceSignal(opening, AbortSignal.any([signal, this.gone]));
      return { session: await withTimeout(this.#deps.clock, createTimeoutMs, "creating the agent's session", ready) };
    } catch (err) {
      if (err instanceof RpcFailure) return { answer: answerOfFailure(err) };
      const failed = (reason: FailureReason, { message }: Error) => ({
        answer: { parts: [failure(reason, message)], exchange: undefined },
      });
      if (err instanceof ProtocolViolation) return failed("agent_protocol", err);
      if (err instanceof DomainError && err.kind === "deadline") return failed("deadline", err);
      throw err;
    }
  }

  /**
   * Begins a turn: the agent may ask for permissions until the signal, or until it is asked to end the turn; open
   * requests are then answered with `cancelled`.
   */
  beginTurn(signal: AbortSignal): void {
    this.#asksNoMore = new AbortController();
    this.#asks = AbortSignal.any([signal, this.#asksNoMore.signal, this.#gone.signal]);
  }

  /** `onResult`: called when the result arrives, before any later frame is read. */
  async prompt(
    sessionId: string | undefined,
    { work, traceparent }: Prompt,
    signal: AbortSignal,
    onResult?: () => void,
  ): Promise<ExactJson> {
    const _meta = { "relay.msg_id": work.id, traceparent };
    return await this.calls.call("session/prompt", { sessionId, prompt: promptBlocks(work), _meta }, signal, onResult);
  }

  /**
   * Asks the agent to end the turn, and answers open permission requests with `cancelled`, as the protocol requires.
   */
  cancel(sessionId: string | undefined): void {
    if (this.#asksNoMore.signal.aborted || this.gone.aborted) return;
    this.calls.notify("session/cancel", { sessionId });
    this.#asksNoMore.abort(new Error("the turn is to end"));
  }

  warn(fields: object, text: string): void {
    this.#deps.logger.warn({ ...fields, ...this.#names() }, text);
  }

  #names() {
    const { sessionId, agentId, role } = this.#options;
    return { session_id: sessionId, agent_id: agentId, role };
  }

  #came(text: string): void {
    const { clock, metrics } = this.#deps;
    this.#lastFrameMs = clock.monotonicMs();
    const frame = readFrame(text);
    metrics.messages.inc({ direction: "in", dialect: this.#version.dialect, kind: frame.type });
    metrics.messageBytes.inc(Buffer.byteLength(text));
    switch (frame.type) {
      case "invalid":
        this.#refuse(frame.id, frame.code, frame.message);
        break;
      case "request":
        this.#requested(frame);
        break;
      case "notification":
        if (isObject(frame.params)) this.#noted(frame.method, frame.params);
        break;
      case "result":
      case "error":
        if (!this.calls.settle(frame)) metrics.duplicates.inc({ where: "answer" });
        break;
    }
  }

  #noted(method: string, params: JsonObject): void {
    if (method === "session/update") this.#version.updated(params);
    const id = method === "$/cancel_request" ? member(params, "requestId") : undefined;
    if (typeof id === "string" || typeof id === "number") this.#asking.get(id)?.abort(new Error("the agent cancels"));
  }

  #requested({ id, method, params }: RpcFrame & { readonly type: "request" }): void {
    if (method !== "session/request_permission" || !isObject(params)) {
      this.#refuse(id, METHOD_NOT_FOUND, "method not found");
      return;
    }
    const answer = (outcome: PermissionOutcome) => this.#send(writeJson({ jsonrpc: "2.0", id, result: { outcome } }));
    const request = this.#version.permissionIn(params);
    if (request === undefined || this.#asking.size >= MOST_PERMISSIONS || this.#asking.has(id)) {
      answer({ outcome: "cancelled" });
      return;
    }
    const withdrawn = new AbortController();
    this.#asking.set(id, withdrawn);
    // Runs in the background: neither reading frames nor another lane waits for it.
    const asked = AbortSignal.any([this.#asks, withdrawn.signal]);
    const settle = (outcome: PermissionOutcome) => {
      this.#asking.delete(id);
      answer(asked.aborted ? { outcome: "cancelled" } : outcome);
    };
    this.#deps.permit(request, asked).then(settle, () => settle({ outcome: "cancelled" }));
  }

  #refuse(id: Id | null, code: number, message: string): void {
    const { clock, metrics } = this.#deps;
    metrics.translationErrors.inc({ dialect: this.#version.dialect, reason: String(code) });
    this.warn({ action: "invalid_frame", code }, "a frame was refused");
    this.#channel.send(errorFrame(id, code, message));
    if (this.#invalid.add(clock.monotonicMs())) this.#channel.close(TOO_MANY_INVALID, "too many invalid frames");
  }

  #send(text: string): void {
    const { metrics } = this.#deps;
    metrics.messages.inc({ direction: "out", dialect: this.#version.dialect, kind: "frame" });
    metrics.messageBytes.inc(Buffer.byteLength(text));
    this.#channel.send(text);
  }
}

export function answerOfFailure({ error }: RpcFailure): LinkAnswer {
  return { parts: answerOfError(error).parts, exchange: undefined };
}
