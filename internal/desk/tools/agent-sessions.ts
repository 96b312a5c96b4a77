import { randomBytes } from "node:crypto";
import type { ReadResult } from "../../files/allowed-files.ts";
import { AgentSession, type AgentSetting, agentUnavailable } from "./agent-session.ts";
import type { Door } from "./door.ts";
import type { FileTool } from "./file-tool.ts";
import type { AgentTurn, HalfAgent, PastTurn } from "./half-agent.ts";

export interface AgentSessionsDeps extends AgentSetting {
  readonly door: Door;
  /** What the agent is, in its instructions. */
  readonly instructions: string;
}

/** Turns of a thread that a new session is reminded of. */
const MAX_REMINDED = 20;

/** A real agent: a session for each thread, the one idle longest stopped beyond a limit. */
export class AgentSessions implements HalfAgent, AsyncDisposable {
  readonly #deps: AgentSessionsDeps;
  readonly #limit: () => number;
  /** The one used last is the last. */
  readonly #sessions = new Map<string, Session>();

  constructor(deps: AgentSessionsDeps, limit: () => number) {
    this.#deps = deps;
    this.#limit = limit;
  }

  async answer(turn: AgentTurn): Promise<string> {
    try {
      const session = await this.#sessionOf(turn);
      return await session.turn(turn);
    } catch (err) {
      await this.#end(turn.thread);
      throw turn.signal.aborted ? err : agentUnavailable(err);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#sessions.keys()].map((thread) => this.#end(thread)));
  }

  async #sessionOf({ thread, signal }: AgentTurn): Promise<Session> {
    const found = this.#sessions.get(thread);
    this.#sessions.delete(thread);
    for (const [other, { isBusy }] of this.#sessions) {
      if (this.#sessions.size < this.#limit()) break;
      if (!isBusy) await this.#end(other);
    }
    const session = found ?? (await Session.start(this.#deps, signal));
    this.#sessions.set(thread, session);
    return session;
  }

  async #end(thread: string): Promise<void> {
    const session = this.#sessions.get(thread);
    this.#sessions.delete(thread);
    await session?.[Symbol.asyncDispose]();
  }
}

/** One agent of one thread, which reads through the door. */
class Session implements AsyncDisposable {
  readonly #instructions: string;
  readonly #agent: AgentSession;
  readonly #admitted: Disposable;
  readonly #files: { current: FileTool | undefined };
  /** Stands before briefings, and no user can type it. */
  readonly #marker = randomBytes(8).toString("hex");
  #isNew = true;
  isBusy = false;

  private constructor(
    instructions: string,
    started: { readonly agent: AgentSession; readonly admitted: Disposable },
    files: { current: FileTool | undefined },
  ) {
    this.#instructions = instructions;
    this.#agent = started.agent;
    this.#admitted = started.admitted;
    this.#files = files;
  }

  static async start(deps: AgentSessionsDeps, signal: AbortSignal): Promise<Session> {
    const files: { current: FileTool | undefined } = { current: undefined };
    const token = randomBytes(32).toString("hex");
    const read = (path: string): ReadResult => files.current?.read(path) ?? { ok: false, reason: "not allowed" };
    const { port } = await deps.door.listening;
    const admitted = deps.door.admit(token, { read });
    try {
      const door = { url: `http://127.0.0.1:${port}/mcp`, token };
      const agent = await AgentSession.start(deps, door, signal);
      return new Session(deps.instructions, { agent, admitted }, files);
    } catch (err) {
      admitted[Symbol.dispose]();
      throw err;
    }
  }

  async turn(turn: AgentTurn): Promise<string> {
    this.isBusy = true;
    this.#files.current = turn.files;
    try {
      const answer = await this.#agent.say(this.#message(turn), turn.signal);
      this.#isNew = false;
      return answer;
    } finally {
      this.#files.current = undefined;
      this.isBusy = false;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#admitted[Symbol.dispose]();
    await this.#agent[Symbol.asyncDispose]();
  }

  #message({ input, isBriefing, history, files }: AgentTurn): string {
    const said = isBriefing ? this.#briefing(input) : `A message:\n${input}`;
    if (!this.#isNew) return said;
    const names = files.names().join("\n");
    const past = history.slice(-MAX_REMINDED).map((turn) => this.#past(turn));
    return [this.#instructions, `Files that you can read with read_file:\n${names}`, ...past, said].join("\n\n");
  }

  #past({ input, isBriefing, answer }: PastTurn): string {
    return isBriefing ? this.#briefing(input) : `An earlier message:\n${input}\nYour answer:\n${answer}`;
  }

  #briefing(text: string): string {
    return `[briefing ${this.#marker}]\n${text}\n[end of briefing ${this.#marker}]`;
  }
}
