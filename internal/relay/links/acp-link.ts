import { raceSignal, withTimeout } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { answerOfPrompt, chunkText, INITIALIZE, promptBlocks } from "../acp/acp-turn.ts";
import { errorFrame, METHOD_NOT_FOUND, type RpcFrame, readFrame } from "../acp/json-rpc.ts";
import { isObject, type Json, type JsonObject, member, writeJson } from "../acp/json-text.ts";
import type { PermissionOutcome } from "../acp/permission-choice.ts";
import { ANSWER_TOO_LARGE, failure } from "../acp/result-parts.ts";
import { RpcCalls, RpcFailure } from "../acp/rpc-calls.ts";
import { answerOfError } from "../acp/sampling-answer.ts";
import { canBeSteered, steering, steerOutcome } from "../acp/steering.ts";
import { continuesConversation } from "../acp/user-message.ts";
import { sessionIdIn, type WayBack, waysBack } from "../acp/way-back.ts";
import { AgentLost } from "../lanes/agent-lost.ts";
import type { Link, LinkAnswer, Prompt, SteerOutcome } from "../lanes/link.ts";
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

interface Turn {
  readonly workId: string;
  /** Permissions are requested until it is aborted. */
  readonly signal: AbortSignal;
  readonly asksNoMore: AbortController;
  text: string;
  bytes: number;
  /** The number of permissions that are being requested. */
  asking: number;
}

const TOO_MANY_INVALID = 4400;
/** The most permissions that are requested at a time; more are refused. */
const MOST_PERMISSIONS = 32;

/**
 * An ACP agent. The relay is its client, answers permission requests and no other calls, and passes updates on unread.
 */
export class AcpLink implements Link {
  readonly dialect = "acp";
  readonly kind = "accept";
  readonly #deps: AcpDeps;
  readonly #options: AcpOptions;
  readonly #channel: FrameChannel;
  readonly #calls: RpcCalls;
  readonly #gone = new AbortController();
  readonly #invalid = new InvalidFrames();
  #initialized: Promise<Json> | undefined;
  #session: string | undefined;
  #turn: Turn | undefined;
  #lastFrameMs: number;

  constructor(deps: AcpDeps, options: AcpOptions, channel: FrameChannel) {
    this.#deps = deps;
    this.#options = options;
    this.#channel = channel;
    this.#calls = new RpcCalls((text) => this.#send(text));
    this.#lastFrameMs = deps.clock.monotonicMs();
    channel.onFrame = (text) => this.#came(text);
    const onEnd = () => this.#gone.abort(new AgentLost((channel.ended.reason as ChannelEnd).why));
    if (channel.ended.aborted) onEnd();
    else channel.ended.addEventListener("abort", onEnd, { once: true });
  }

  get agentId(): string {
    return this.#options.agentId;
  }

  get connectionId(): string {
    return this.#options.connectionId;
  }

  get agentSession(): string | undefined {
    return this.#session;
  }

  get lastFrameMs(): number {
    return this.#channel.isHeld ? this.#deps.clock.monotonicMs() : this.#lastFrameMs;
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  established(): void {
    void this.#initialize();
  }

  close(code: number, reason: string): void {
    this.#channel.close(code, reason);
  }

  /** Opens a session for the prompt. A failure becomes the work's answer: the agent has not seen the work. */
  async prepare(prompt: Prompt, signal: AbortSignal): Promise<LinkAnswer | undefined> {
    const { createTimeoutMs } = this.#options;
    try {
      const ready = raceSignal(this.#sessionFor(prompt), AbortSignal.any([signal, this.#gone.signal]));
      // A session that opens after the timeout is not used.
      this.#session = await withTimeout(this.#deps.clock, createTimeoutMs, "creating the agent's session", ready);
      return undefined;
    } catch (err) {
      if (err instanceof RpcFailure) return { parts: answerOfError(err.error).parts, exchange: undefined };
      if (!(err instanceof DomainError) || err.kind !== "deadline") throw err;
      return { parts: [failure("deadline", err.message)], exchange: undefined };
    }
  }

  async ask({ work, traceparent }: Prompt, signal: AbortSignal): Promise<LinkAnswer> {
    this.#gone.signal.throwIfAborted();
    const asksNoMore = new AbortController();
    const until = AbortSignal.any([signal, this.#gone.signal]);
    const asks = AbortSignal.any([signal, asksNoMore.signal]);
    const turn: Turn = { workId: work.id, signal: asks, asksNoMore, text: "", bytes: 0, asking: 0 };
    this.#turn = turn;
    const _meta = { "relay.msg_id": work.id, ...(traceparent !== undefined && { traceparent }) };
    const prompt = promptBlocks(work);
    try {
      const response = await this.#calls.call("session/prompt", { sessionId: this.#session, prompt, _meta }, until);
      const isTooLarge = turn.bytes > this.#options.maxMessageBytes;
      return { parts: isTooLarge ? [ANSWER_TOO_LARGE] : answerOfPrompt(response, turn.text), exchange: undefined };
    } catch (err) {
      if (err instanceof RpcFailure) return { parts: answerOfError(err.error).parts, exchange: undefined };
      this.cancel();
      throw err;
    } finally {
      this.#turn = undefined;
    }
  }

  /** Also answers open permission requests with `cancelled`, as the protocol requires. */
  cancel(): void {
    const turn = this.#turn;
    if (turn === undefined || turn.asksNoMore.signal.aborted || this.#gone.signal.aborted) return;
    this.#calls.notify("session/cancel", { sessionId: this.#session });
    turn.asksNoMore.abort(new Error("the turn is to end"));
  }

  async steer(prompt: readonly Json[], signal: AbortSignal): Promise<SteerOutcome> {
    if (this.#turn === undefined || this.#session === undefined) return "idle";
    if (!canBeSteered(await this.#initialize())) return "unsupported";
    try {
      const until = AbortSignal.any([signal, this.#gone.signal]);
      return steerOutcome(await this.#calls.call("_session/steering", steering(this.#session, prompt), until));
    } catch (err) {
      if (err instanceof RpcFailure) return "failed";
      throw err;
    }
  }

  /** The open session, an earlier connection's if the agent can open it again, or a new one. */
  async #sessionFor({ work, agentSession }: Prompt): Promise<string> {
    const place = { cwd: this.#options.cwd, mcpServers: [] };
    const initialized = await this.#initialize();
    if (this.#session !== undefined && continuesConversation(work)) return this.#session;
    const isKnown = agentSession !== undefined && continuesConversation(work);
    const known = isKnown && (await this.#reopened(agentSession, waysBack(initialized), place));
    if (known) return known;
    const id = sessionIdIn(await this.#calls.call("session/new", place));
    if (id === undefined) throw new RpcFailure("session/new", { message: "the agent named no session" });
    return id;
  }

  /**
   * Opens an earlier session. Undefined: the agent cannot. Updates that it replays meanwhile are ignored, since no turn
   * is open.
   */
  async #reopened(sessionId: string, ways: readonly WayBack[], place: object): Promise<string | undefined> {
    for (const way of ways) {
      try {
        await this.#calls.call(way, { sessionId, ...place });
        return sessionId;
      } catch (err) {
        if (!(err instanceof RpcFailure)) throw err;
        this.#deps.logger.warn({ action: "session_lost", method: way, ...this.#names() }, "a session cannot be opened");
      }
    }
    return undefined;
  }

  #names() {
    const { sessionId, agentId, role } = this.#options;
    return { session_id: sessionId, agent_id: agentId, role };
  }

  #initialize(): Promise<Json> {
    this.#initialized ??= this.#calls.call("initialize", INITIALIZE);
    this.#initialized.catch(() => {});
    return this.#initialized;
  }

  #came(text: string): void {
    const { clock, metrics } = this.#deps;
    this.#lastFrameMs = clock.monotonicMs();
    const frame = readFrame(text);
    metrics.messages.inc({ direction: "in", dialect: "acp", kind: frame.type });
    metrics.messageBytes.inc(Buffer.byteLength(text));
    switch (frame.type) {
      case "invalid":
        this.#refuse(frame.id, frame.code, frame.message);
        break;
      case "request":
        this.#requested(frame);
        break;
      case "notification":
        if (frame.method === "session/update" && isObject(frame.params)) this.#updated(frame.params);
        break;
      case "result":
      case "error":
        if (!this.#calls.settle(frame)) metrics.duplicates.inc({ where: "answer" });
        break;
    }
  }

  #updated(params: JsonObject): void {
    const turn = this.#turn;
    const update = member(params, "update");
    if (turn === undefined || !isObject(update) || member(params, "sessionId") !== this.#session) return;
    const text = chunkText(update) ?? "";
    turn.bytes += Buffer.byteLength(text);
    turn.text = turn.bytes > this.#options.maxMessageBytes ? "" : turn.text + text;
    this.#deps.progress.send(turn.workId, update);
  }

  #requested({ id, method, params }: RpcFrame & { readonly type: "request" }): void {
    const turn = this.#turn;
    if (method !== "session/request_permission" || !isObject(params)) {
      this.#refuse(id, METHOD_NOT_FOUND, "method not found");
      return;
    }
    const answer = (outcome: PermissionOutcome) => this.#send(writeJson({ jsonrpc: "2.0", id, result: { outcome } }));
    const isOurs = turn !== undefined && member(params, "sessionId") === this.#session;
    if (!isOurs || turn.asking >= MOST_PERMISSIONS) {
      answer({ outcome: "cancelled" });
      return;
    }
    turn.asking++;
    const request = {
      workId: turn.workId,
      toolCall: member(params, "toolCall"),
      options: member(params, "options"),
    };
    // Runs in the background: neither reading frames nor another lane waits for it.
    const permitted = this.#deps.permit(request, AbortSignal.any([turn.signal, this.#gone.signal]));
    const settle = (outcome: PermissionOutcome) => {
      turn.asking--;
      answer(turn.signal.aborted ? { outcome: "cancelled" } : outcome);
    };
    permitted.then(settle, () => settle({ outcome: "cancelled" }));
  }

  #refuse(id: string | number | null, code: number, message: string): void {
    const { clock, logger, metrics } = this.#deps;
    metrics.translationErrors.inc({ dialect: "acp", reason: String(code) });
    logger.warn({ action: "invalid_frame", ...this.#names(), code }, "a frame was refused");
    this.#channel.send(errorFrame(id, code, message));
    if (this.#invalid.add(clock.monotonicMs())) this.#channel.close(TOO_MANY_INVALID, "too many invalid frames");
  }

  #send(text: string): void {
    const { metrics } = this.#deps;
    metrics.messages.inc({ direction: "out", dialect: "acp", kind: "frame" });
    metrics.messageBytes.inc(Buffer.byteLength(text));
    this.#channel.send(text);
  }
}
