import type { Clock } from "../../base/clock.ts";
import { errorText } from "../../base/errors.ts";
import { AgentLost } from "../lanes/agent-lost.ts";
import type { LinkAnswer, Prompt } from "../lanes/link.ts";
import type { OwnLink } from "../lanes/served-roles.ts";
import { inputKeyOf, readEventPlace, readSession, writePlace, writeSession } from "./bridge-names.ts";
import { BridgePrompt, type BridgePromptDeps } from "./bridge-prompt.ts";
import { BridgeSession, type BridgeSessionOptions, type OpenSession } from "./bridge-session.ts";
import { inputText } from "./bridge-text.ts";
import { Resting } from "./resting.ts";

export interface BridgeLinkDeps extends Omit<BridgePromptDeps, "onEvent"> {
  readonly clock: Clock;
  /** Called when the link starts to use another session. */
  readonly onSession: (id: string) => void;
  readonly onClosed: (reason: string) => void;
}

export interface BridgeLinkOptions extends BridgeSessionOptions {
  readonly agentId: string;
  readonly connectionId: string;
  /** The link gives up the lane after this long without work. The session continues. */
  readonly restMs: number;
  /** The longest answer, in bytes. */
  readonly maxMessageBytes: number;
}

/** The close code for an agent that did not end its turn. */
const NOT_ENDED = 1008;

/**
 * An agent in a session of a bridge: in a terminal, in a pod, or over stdio. All work of the lane goes to one session,
 * unless `fresh` is set. An interrupted turn continues under the same key, so its prompt reaches the agent once.
 */
export class BridgeLink implements OwnLink {
  readonly dialect = "bridge";
  readonly kind = "bridge";
  readonly #deps: BridgeLinkDeps;
  readonly #options: BridgeLinkOptions;
  readonly #session: BridgeSession;
  readonly #gone = new AbortController();
  readonly #resting: Resting;
  #named: string | undefined;
  #prompt: BridgePrompt | undefined;
  #stopping: Promise<void> | undefined;
  #lastFrameMs: number;

  constructor(deps: BridgeLinkDeps, options: BridgeLinkOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#session = new BridgeSession(deps, options);
    this.#resting = new Resting(deps.clock, options.restMs, () => this.close(1000, "no work"));
    this.#lastFrameMs = deps.clock.monotonicMs();
  }

  get agentId(): string {
    return this.#options.agentId;
  }

  get connectionId(): string {
    return this.#options.connectionId;
  }

  get agentSession(): string | undefined {
    return this.#session.open && writeSession(this.#session.open.session);
  }

  get agentPlace(): string | undefined {
    return this.#session.open && writePlace(this.#session.open.place);
  }

  get lastFrameMs(): number {
    return this.#lastFrameMs;
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  get restingSinceMs(): number | undefined {
    return this.#resting.sinceMs;
  }

  /** Resolves when the session has stopped, if it has to stop. */
  async ended(): Promise<void> {
    await this.#stopping;
  }

  established(): void {
    this.#rest();
  }

  close(code: number, reason: string): void {
    if (this.#gone.signal.aborted) return;
    this.#resting.end();
    this.#gone.abort(new AgentLost(reason));
    if (code === NOT_ENDED) this.#stopping = this.#session.stop();
    this.#deps.onClosed(reason);
  }

  async prepare(prompt: Prompt, signal: AbortSignal): Promise<LinkAnswer | undefined> {
    this.#resting.end();
    let isReady = false;
    try {
      const text = inputText(prompt.work);
      const part = typeof text === "string" ? await this.#ready(prompt, signal) : text;
      isReady = part === undefined;
      return part && { parts: [part], exchange: undefined };
    } finally {
      if (!isReady) this.#rest();
    }
  }

  async ask({ work, attempt, interrupted }: Prompt, signal: AbortSignal): Promise<LinkAnswer> {
    const { open } = this.#session;
    const { lane, maxMessageBytes: maxBytes, parameters } = this.#options;
    try {
      this.#gone.signal.throwIfAborted();
      const text = inputText(work);
      if (open === undefined || typeof text !== "string") throw new AgentLost("the lane's log names no session");
      this.#seen();
      const isTerminal = parameters.agentOpts["mode"] === "terminal";
      const turn = { key: inputKeyOf(lane, work.id, attempt), text, maxBytes, isTerminal };
      const at = { id: open.session.id, place: open.place, workId: work.id, isAgain: interrupted !== undefined };
      const deps = { ...this.#deps, onEvent: () => this.#seen() };
      const prompt = new BridgePrompt(deps, { ...turn, ...at }, AbortSignal.any([signal, this.#gone.signal]));
      return await this.#run(prompt, open);
    } finally {
      this.#rest();
    }
  }

  cancel(): void {
    this.#prompt?.cancel();
  }

  async #run(prompt: BridgePrompt, { session }: OpenSession): Promise<LinkAnswer> {
    this.#prompt = prompt;
    try {
      return { parts: await prompt.run(), exchange: undefined };
    } catch (err) {
      const { sessionId: session_id, role } = this.#options.lane;
      const fields = { action: "turn_lost", session_id, role, session: session.id, reason: errorText(err) };
      if (!this.#gone.signal.aborted) this.#deps.logger.warn(fields, "the outcome of a turn is unknown");
      throw err;
    } finally {
      this.#prompt = undefined;
      const { epoch, seq, phase } = prompt.place;
      this.#session.goOn({ session, place: { epoch, seq, phase } });
    }
  }

  async #ready({ agentSession, attempt, interrupted }: Prompt, signal: AbortSignal) {
    if (interrupted !== undefined) {
      const session = readSession(interrupted.agent_session);
      const place = readEventPlace(interrupted.agent_place);
      if (session !== undefined && place !== undefined) this.#session.goOn({ session, place });
    } else {
      const stop = AbortSignal.any([signal, this.#gone.signal]);
      const part = await this.#session.ready(readSession(agentSession), attempt === 1, stop);
      if (part !== undefined) return part;
    }
    this.#name();
    return undefined;
  }

  #name(): void {
    const id = this.#session.open?.session.id;
    if (id === undefined || id === this.#named) return;
    this.#named = id;
    this.#deps.onSession(id);
  }

  #seen(): void {
    this.#lastFrameMs = this.#deps.clock.monotonicMs();
  }

  #rest(): void {
    if (!this.#gone.signal.aborted) this.#resting.begin();
  }
}
