import { answerOfPrompt, chunkText, INITIALIZE, speaksVersion1 } from "../acp/acp-turn.ts";
import { type ExactJson, isObject, type JsonObject, member } from "../acp/json-text.ts";
import { ANSWER_TOO_LARGE } from "../acp/result-parts.ts";
import { ProtocolViolation, RpcFailure } from "../acp/rpc-calls.ts";
import { canBeSteered, steering, steerOutcome } from "../acp/steering.ts";
import { continuesConversation } from "../acp/user-message.ts";
import { sessionIdIn, type WayBack, waysBack } from "../acp/way-back.ts";
import type { LaneLink, LinkAnswer, Prompt, SteerOutcome } from "../lanes/link.ts";
import type { PermissionRequest } from "../lanes/permissions.ts";
import { AcpConnection, type AcpDeps, type AcpOptions, answerOfFailure } from "./acp-connection.ts";
import type { FrameChannel } from "./frame-channel.ts";

interface Turn {
  readonly workId: string;
  text: string;
  bytes: number;
}

/**
 * An ACP agent. The relay is its client, answers permission requests and no other calls, and passes updates on unread.
 */
export class AcpLink implements LaneLink {
  readonly dialect = "acp";
  readonly kind = "accept";
  readonly #deps: AcpDeps;
  readonly #options: AcpOptions;
  readonly #connection: AcpConnection;
  #session: string | undefined;
  #turn: Turn | undefined;

  constructor(deps: AcpDeps, options: AcpOptions, channel: FrameChannel) {
    this.#deps = deps;
    this.#options = options;
    this.#connection = new AcpConnection(deps, options, channel, {
      dialect: this.dialect,
      client: INITIALIZE,
      updated: (params) => this.#updated(params),
      permissionIn: (params) => this.#permissionIn(params),
    });
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
    return this.#connection.lastFrameMs;
  }

  get gone(): AbortSignal {
    return this.#connection.gone;
  }

  established(): void {
    void this.#connection.initialize();
  }

  close(code: number, reason: string): void {
    this.#connection.close(code, reason);
  }

  /** Opens a session for the prompt. A failure becomes the work's answer: the agent has not seen the work. */
  async prepare(prompt: Prompt, signal: AbortSignal): Promise<LinkAnswer | undefined> {
    const opened = await this.#connection.opened(this.#sessionFor(prompt), signal);
    if ("answer" in opened) return opened.answer;
    this.#session = opened.session;
    return undefined;
  }

  async ask(prompt: Prompt, signal: AbortSignal): Promise<LinkAnswer> {
    this.gone.throwIfAborted();
    this.#connection.beginTurn(signal);
    const turn: Turn = { workId: prompt.work.id, text: "", bytes: 0 };
    this.#turn = turn;
    try {
      const until = AbortSignal.any([signal, this.gone]);
      const response = await this.#connection.prompt(this.#session, prompt, until);
      const isTooLarge = turn.bytes > this.#options.maxMessageBytes;
      return { parts: isTooLarge ? [ANSWER_TOO_LARGE] : answerOfPrompt(response, turn.text), exchange: undefined };
    } catch (err) {
      if (err instanceof RpcFailure) return answerOfFailure(err);
      this.cancel();
      throw err;
    } finally {
      this.#turn = undefined;
    }
  }

  cancel(): void {
    if (this.#turn !== undefined) this.#connection.cancel(this.#session);
  }

  async steer(prompt: readonly ExactJson[], signal: AbortSignal): Promise<SteerOutcome> {
    if (this.#turn === undefined || this.#session === undefined) return "idle";
    if (!canBeSteered(await this.#connection.initialize())) return "unsupported";
    try {
      const until = AbortSignal.any([signal, this.gone]);
      return steerOutcome(
        await this.#connection.calls.call("_session/steering", steering(this.#session, prompt), until),
      );
    } catch (err) {
      if (err instanceof RpcFailure) return "failed";
      throw err;
    }
  }

  /**
   * For work that continues the conversation, the open session, or an earlier connection's session if the agent can
   * open it again. Otherwise, or if there is neither, a new session.
   */
  async #sessionFor({ work, agentSession }: Prompt): Promise<string> {
    const place = { cwd: this.#options.cwd, mcpServers: [] };
    const initialized = await this.#connection.initialize();
    if (!speaksVersion1(initialized)) throw new ProtocolViolation("the agent does not speak version 1");
    if (this.#session !== undefined && continuesConversation(work)) return this.#session;
    const isKnown = agentSession !== undefined && continuesConversation(work);
    const known = isKnown && (await this.#reopened(agentSession, waysBack(initialized), place));
    if (known) return known;
    const id = sessionIdIn(await this.#connection.calls.call("session/new", place));
    if (id === undefined) throw new ProtocolViolation("the agent named no session");
    return id;
  }

  /**
   * Opens an earlier session. Undefined: the agent cannot open it. Updates that the agent replays meanwhile are
   * ignored, since no turn is open.
   */
  async #reopened(sessionId: string, ways: readonly WayBack[], place: object): Promise<string | undefined> {
    for (const way of ways) {
      try {
        await this.#connection.calls.call(way, { sessionId, ...place });
        return sessionId;
      } catch (err) {
        if (!(err instanceof RpcFailure)) throw err;
        this.#connection.warn({ action: "session_lost", method: way }, "a session cannot be opened");
      }
    }
    return undefined;
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

  #permissionIn(params: JsonObject): PermissionRequest | undefined {
    const turn = this.#turn;
    if (turn === undefined || member(params, "sessionId") !== this.#session) return undefined;
    return { workId: turn.workId, toolCall: member(params, "toolCall"), options: member(params, "options") };
  }
}
