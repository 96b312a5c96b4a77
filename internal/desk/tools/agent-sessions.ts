import { randomBytes } from "node:crypto";
import { raceSignal } from "../../base/abort.ts";
import type { ReadResult } from "../../files/allowed-files.ts";
import { type AgentSetting, agentUnavailable, DeskAgent, FailedTurn } from "./desk-agent.ts";
import type { Door, DoorPass } from "./door.ts";
import type { FileTool } from "./file-tool.ts";
import type { AgentTurn, HalfAgent, PastTurn } from "./half-agent.ts";

export interface AgentSessionsDeps extends AgentSetting {
  readonly door: Pick<Door, "listening" | "admit">;
  /** The text that gives the agent its role. */
  readonly instructions: string;
}

/** The number of a thread's turns that a new session gets as its history. */
const MAX_REMINDED = 20;

/** A real agent with a session for each thread; beyond a limit the longest idle session is stopped. */
export class AgentSessions implements HalfAgent, AsyncDisposable {
  readonly #deps: AgentSessionsDeps;
  readonly #limit: () => number;
  /** The most recently used one is the last. */
  readonly #sessions = new Map<string, Session>();
  /** The end of each thread's current turn; a cut turn may still be stopping its agent. */
  readonly #turns = new Map<string, Promise<unknown>>();
  #starting = 0;
  /** Resolves when a turn has ended: a session may be idle then. */
  #onChange = Promise.withResolvers<void>();

  constructor(deps: AgentSessionsDeps, limit: () => number) {
    this.#deps = deps;
    this.#limit = limit;
  }

  async answer(turn: AgentTurn): Promise<string> {
    const { thread, signal } = turn;
    while (this.#turns.has(thread)) await raceSignal(this.#turns.get(thread) ?? Promise.resolve(), signal);
    const answered = this.#answer(turn);
    const over = answered.catch(() => {}).finally(() => this.#turns.delete(thread));
    this.#turns.set(thread, over);
    return answered;
  }

  forget(thread: string): void {
    this.#end(thread).catch(() => {}); // the agent is gone already
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#sessions.keys()].map((thread) => this.#end(thread)));
  }

  async #answer(turn: AgentTurn): Promise<string> {
    try {
      const session = await this.#sessionOf(turn);
      return (await session.turn(turn)) ?? (await (await this.#sessionOf(turn)).turn(turn)) ?? ended();
    } catch (err) {
      if (!(err instanceof FailedTurn)) await this.#end(turn.thread);
      throw turn.signal.aborted ? err : agentUnavailable(err);
    } finally {
      const { resolve } = this.#onChange;
      this.#onChange = Promise.withResolvers();
      resolve();
    }
  }

  /** Returns the thread's session, which counts as busy from now on; starts one if there is none. */
  async #sessionOf({ thread, signal }: AgentTurn): Promise<Session> {
    const found = this.#sessions.get(thread);
    if (found?.hasEnded === false) {
      found.isBusy = true;
      this.#sessions.delete(thread);
      this.#sessions.set(thread, found);
      return found;
    }
    await this.#end(thread);
    await this.#room(signal);
    this.#starting += 1;
    try {
      const session = await Session.start(this.#deps, signal);
      this.#sessions.set(thread, session);
      return session;
    } finally {
      this.#starting -= 1;
    }
  }

  /** Makes room for another session: stops the longest idle one, or waits until a session is idle. */
  async #room(signal: AbortSignal): Promise<void> {
    while (this.#sessions.size + this.#starting >= this.#limit()) {
      const [idle] = [...this.#sessions].find(([, { isBusy }]) => !isBusy) ?? [];
      if (idle !== undefined) {
        await this.#end(idle);
        continue;
      }
      await raceSignal(this.#onChange.promise, signal);
    }
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
  readonly #agent: DeskAgent;
  readonly #admitted: DoorPass;
  readonly #files: { current: FileTool | undefined };
  /** The mark before briefings, which no user can type. */
  readonly #marker = randomBytes(8).toString("hex");
  #isNew = true;
  isBusy = true;

  private constructor(
    instructions: string,
    started: { readonly agent: DeskAgent; readonly admitted: DoorPass },
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
    await using starting = new AsyncDisposableStack();
    const admitted = starting.use(deps.door.admit(token, { read }));
    const door = { url: `http://127.0.0.1:${port}/mcp`, token };
    const agent = starting.use(await DeskAgent.start(deps, door, signal));
    // Programs accept a message before they have connected to the door; their model would then lack its tool.
    await raceSignal(admitted.listed, signal);
    starting.move();
    return new Session(deps.instructions, { agent, admitted }, files);
  }

  /** True once the agent has ended. */
  get hasEnded(): boolean {
    return this.#agent.hasEnded;
  }

  /** The answer; undefined if the agent had ended before it got the message. */
  async turn(turn: AgentTurn): Promise<string | undefined> {
    this.#files.current = turn.files;
    try {
      const answer = await this.#agent.say(this.#message(turn), turn.signal);
      if (answer !== undefined) this.#isNew = false;
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

function ended(): never {
  throw new Error("the agent has ended");
}
