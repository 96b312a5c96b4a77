import { raceSignal } from "../../base/abort.ts";
import {
  type Acp2Turn,
  afterAccepted,
  afterUpdate,
  answerOfAcp2,
  beginAcp2Turn,
  INITIALIZE_2,
  isBusyIn,
  speaksVersion2,
  toolCallIn,
} from "../acp/acp2-turn.ts";
import { isObject, type JsonObject, member } from "../acp/json-text.ts";
import { ProtocolViolation, RpcFailure } from "../acp/rpc-calls.ts";
import { continuesConversation } from "../acp/user-message.ts";
import { sessionIdIn } from "../acp/way-back.ts";
import type { LaneLink, LinkAnswer, Prompt } from "../lanes/link.ts";
import type { PermissionRequest } from "../lanes/permissions.ts";
import { AcpConnection, type AcpDeps, type AcpOptions, answerOfFailure } from "./acp-connection.ts";
import type { FrameChannel } from "./frame-channel.ts";

interface Turn {
  readonly workId: string;
  readonly over: PromiseWithResolvers<void>;
  state: Acp2Turn;
}

/** An ACP agent of version 2, a draft. Its turn ends when it reports that it is idle. */
export class Acp2Link implements LaneLink {
  readonly dialect = "acp2";
  readonly kind = "accept";
  readonly #deps: AcpDeps;
  readonly #options: AcpOptions;
  readonly #connection: AcpConnection;
  #session: string | undefined;
  /** The session that is being opened again; its state may come before the response. */
  #opening: string | undefined;
  #isBusy = false;
  #turn: Turn | undefined;

  constructor(deps: AcpDeps, options: AcpOptions, channel: FrameChannel) {
    this.#deps = deps;
    this.#options = options;
    this.#connection = new AcpConnection(deps, options, channel, {
      dialect: this.dialect,
      client: INITIALIZE_2,
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
    try {
      const opened = await this.#connection.opened(this.#sessionFor(prompt), signal);
      if ("answer" in opened) return opened.answer;
      const { session } = opened;
      if (session !== this.#session && session !== this.#opening) this.#isBusy = false;
      this.#session = session;
      return undefined;
    } finally {
      this.#opening = undefined;
    }
  }

  async ask(prompt: Prompt, signal: AbortSignal): Promise<LinkAnswer> {
    this.gone.throwIfAborted();
    this.#connection.beginTurn(signal);
    const state = beginAcp2Turn(this.#isBusy, this.#options.maxMessageBytes);
    const turn: Turn = { workId: prompt.work.id, over: Promise.withResolvers(), state };
    this.#turn = turn;
    try {
      const until = AbortSignal.any([signal, this.gone]);
      const onAccepted = () => this.#goOn(turn, afterAccepted(turn.state));
      await this.#connection.prompt(this.#session, prompt, until, onAccepted);
      await raceSignal(turn.over.promise, until);
      return { parts: answerOfAcp2(turn.state), exchange: undefined };
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

  /**
   * For work that continues the conversation, the open session, or an earlier connection's session if the agent can
   * open it again. Otherwise, or if there is neither, a new session.
   */
  async #sessionFor({ work, agentSession }: Prompt): Promise<string> {
    const initialized = await this.#connection.initialize();
    if (!speaksVersion2(initialized)) throw new ProtocolViolation("the agent does not speak version 2");
    const { cwd } = this.#options;
    const continues = continuesConversation(work);
    if (this.#session !== undefined && continues) return this.#session;
    if (agentSession !== undefined && continues && (await this.#isReopened(agentSession))) return agentSession;
    const id = sessionIdIn(await this.#connection.calls.call("session/new", { cwd, mcpServers: [] }));
    if (id === undefined) throw new ProtocolViolation("the agent named no session");
    return id;
  }

  async #isReopened(sessionId: string): Promise<boolean> {
    this.#opening = sessionId;
    this.#isBusy = false;
    try {
      const { cwd } = this.#options;
      await this.#connection.calls.call("session/resume", { sessionId, cwd, mcpServers: [] });
      return true;
    } catch (err) {
      if (!(err instanceof RpcFailure)) throw err;
      this.#connection.warn({ action: "session_lost", method: "session/resume" }, "a session cannot be opened");
      this.#opening = undefined;
      return false;
    }
  }

  #updated(params: JsonObject): void {
    const update = member(params, "update");
    const session = member(params, "sessionId");
    if (!isObject(update) || (session !== this.#session && session !== this.#opening)) return;
    this.#isBusy = isBusyIn(update) ?? this.#isBusy;
    const turn = this.#turn;
    if (turn === undefined) return;
    this.#deps.progress.send(turn.workId, update);
    this.#goOn(turn, afterUpdate(turn.state, update));
  }

  #goOn(turn: Turn, state: Acp2Turn): void {
    turn.state = state;
    if (state.end !== undefined) turn.over.resolve();
  }

  #permissionIn(params: JsonObject): PermissionRequest | undefined {
    const turn = this.#turn;
    if (turn === undefined || member(params, "sessionId") !== this.#session) return undefined;
    return { workId: turn.workId, toolCall: toolCallIn(params), options: member(params, "options") };
  }
}
