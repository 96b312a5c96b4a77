import { raceSignal } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import { messagesOf } from "../acp/conversation.ts";
import type { Dialect } from "../acp/dialect.ts";
import { errorFrame, METHOD_NOT_FOUND, type RpcFrame, readFrame } from "../acp/json-rpc.ts";
import { type ExactJson, writeJson } from "../acp/json-text.ts";
import { mcpRequest } from "../acp/mcp-request.ts";
import { mcpResponse } from "../acp/mcp-session.ts";
import { ANSWER_TOO_LARGE } from "../acp/result-parts.ts";
import { answerOfError, answerOfResult } from "../acp/sampling-answer.ts";
import { type SamplingSettings, seedRequest } from "../acp/sampling-request.ts";
import { userMessages } from "../acp/user-message.ts";
import { AgentLost } from "../lanes/agent-lost.ts";
import type { LaneLink, LinkAnswer, Prompt } from "../lanes/link.ts";
import type { RelayMetrics } from "../lanes/relay-metrics.ts";
import { type ChannelEnd, FRAME_TOO_LARGE } from "./channel-end.ts";
import type { FrameChannel } from "./frame-channel.ts";
import { InvalidFrames } from "./invalid-frames.ts";

export interface SamplingDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: RelayMetrics;
}

export interface SamplingOptions {
  readonly sessionId: string;
  readonly role: string;
  readonly agentId: string;
  readonly connectionId: string;
  readonly dialect: Exclude<Dialect, "acp">;
  readonly settings: SamplingSettings;
  /** The frame to send once the lane is held; undefined: none. */
  readonly firstFrame: () => string | undefined;
}

interface OpenRequest {
  readonly id: string;
  readonly settle: (frame: RpcFrame & { readonly type: "result" | "error" }) => void;
}

const TOO_MANY_INVALID = 4400;

/** An agent that dialled in and is prompted by `sampling/createMessage`, in the seed's dialect or MCP's. */
export class SamplingLink implements LaneLink {
  readonly kind = "accept";
  readonly #deps: SamplingDeps;
  readonly #options: SamplingOptions;
  readonly #channel: FrameChannel;
  readonly #gone = new AbortController();
  readonly #invalid = new InvalidFrames();
  #open: OpenRequest | undefined;
  #isEstablished = false;
  #lastFrameMs: number;

  constructor(deps: SamplingDeps, options: SamplingOptions, channel: FrameChannel) {
    this.#deps = deps;
    this.#options = options;
    this.#channel = channel;
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

  get dialect(): Dialect {
    return this.#options.dialect;
  }

  get lastFrameMs(): number {
    return this.#channel.isHeld ? this.#deps.clock.monotonicMs() : this.#lastFrameMs;
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  established(): void {
    if (this.#isEstablished) return;
    this.#isEstablished = true;
    const frame = this.#options.firstFrame();
    if (frame !== undefined) this.#channel.send(frame);
  }

  close(code: number, reason: string): void {
    this.#channel.close(code, reason);
  }

  cancel(): void {
    if (this.#open === undefined) return;
    const params = { requestId: this.#open.id, reason: "the turn is to end" };
    this.#channel.send(writeJson({ jsonrpc: "2.0", method: "notifications/cancelled", params }));
  }

  async ask({ work, exchanges }: Prompt, signal: AbortSignal): Promise<LinkAnswer> {
    this.#gone.signal.throwIfAborted();
    const { dialect, settings } = this.#options;
    const user = userMessages(work);
    const request = dialect === "mcp" ? mcpRequest : seedRequest;
    const text = request(work.id, [...messagesOf(exchanges), ...user], settings);
    const { promise, resolve } = Promise.withResolvers<RpcFrame & { readonly type: "result" | "error" }>();
    this.#open = { id: work.id, settle: resolve };
    const began = this.#deps.clock.monotonicMs();
    try {
      this.#log("translated", { id: work.id, method: "sampling/createMessage", messages: user.length });
      this.#sent("sampling/createMessage", work.id, text);
      const frame = await raceSignal(promise, AbortSignal.any([signal, this.#gone.signal]));
      const answer = frame.type === "result" ? answerOfResult(frame.result) : answerOfError(frame.error);
      const ms = Math.round(this.#deps.clock.monotonicMs() - began);
      this.#log("translated", { id: work.id, parts: answer.parts.length, duration_ms: ms, outcome: frame.type });
      const { assistant } = answer;
      return { parts: answer.parts, exchange: assistant === undefined ? undefined : { user, assistant } };
    } catch (err) {
      const isTooLarge = (this.#channel.ended.reason as ChannelEnd | undefined)?.code === FRAME_TOO_LARGE;
      if (isTooLarge) return { parts: [ANSWER_TOO_LARGE], exchange: undefined };
      throw err;
    } finally {
      this.#open = undefined;
    }
  }

  #came(text: string): void {
    const { clock, metrics } = this.#deps;
    this.#lastFrameMs = clock.monotonicMs();
    const frame = readFrame(text);
    metrics.messages.inc({ direction: "in", dialect: this.#options.dialect, kind: frame.type });
    metrics.messageBytes.inc(Buffer.byteLength(text));
    const method = "method" in frame ? { method: frame.method.slice(0, 100) } : {};
    const id = "id" in frame && frame.id !== null ? { id: frame.id } : {};
    this.#log("message_received", { direction: "agent", ...method, ...id, kind: frame.type, bytes: text.length });
    switch (frame.type) {
      case "invalid":
        this.#refuse(frame.id, frame.code, frame.message);
        break;
      case "request": {
        const answer = this.#options.dialect === "mcp" ? mcpResponse(frame.id, frame.method, frame.params) : undefined;
        if (answer === undefined) this.#refuse(frame.id, METHOD_NOT_FOUND, "method not found");
        else this.#channel.send(answer);
        break;
      }
      case "notification":
        break;
      case "result":
      case "error":
        this.#settle(frame);
        break;
    }
  }

  /**
   * Settles the open request if `frame` has its id, as the string that was sent. Counts any other response as a
   * duplicate.
   */
  #settle(frame: RpcFrame & { readonly type: "result" | "error" }): void {
    const open = this.#open;
    if (open === undefined || frame.id !== open.id) {
      this.#deps.metrics.duplicates.inc({ where: "answer" });
      this.#log("answer_dropped", { reason: "no request has this id" });
      return;
    }
    this.#open = undefined;
    open.settle(frame);
  }

  #refuse(id: ExactJson, code: number, message: string): void {
    const { clock, logger, metrics } = this.#deps;
    const { dialect } = this.#options;
    metrics.translationErrors.inc({ dialect, reason: String(code) });
    logger.warn({ action: "invalid_frame", ...this.#names(), code }, "a frame was refused");
    this.#channel.send(errorFrame(id as string | number | null, code, message));
    if (this.#invalid.add(clock.monotonicMs())) this.#channel.close(TOO_MANY_INVALID, "too many invalid frames");
  }

  #sent(method: string, id: string, text: string): void {
    const { metrics } = this.#deps;
    metrics.messages.inc({ direction: "out", dialect: this.#options.dialect, kind: "request" });
    metrics.messageBytes.inc(Buffer.byteLength(text));
    this.#log("message_sent", { direction: "agent", method, id, bytes: text.length });
    this.#channel.send(text);
  }

  #log(action: string, fields: Readonly<Record<string, unknown>>): void {
    this.#deps.logger.info({ action, ...this.#names(), ...fields }, action.replaceAll("_", " "));
  }

  #names() {
    const { sessionId, agentId, role } = this.#options;
    return { session_id: sessionId, agent_id: agentId, role };
  }
}
