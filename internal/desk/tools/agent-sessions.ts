import { randomBytes, randomUUID } from "node:crypto";
import { raceSignal } from "../../base/abort.ts";
import { DomainError } from "../../base/errors.ts";
import type { AgentEvent, Provider, SessionHandle } from "../../bridge/provider.ts";
import type { ReadResult } from "../../files/allowed-files.ts";
import type { Door } from "./door.ts";
import type { FileTool } from "./file-tool.ts";
import type { AgentTurn, HalfAgent, PastTurn } from "./half-agent.ts";
import { wordsOf } from "./model-words.ts";

/** How a session's agent is launched: with a door that it may use, and a token for it. */
export interface AgentLaunch {
  readonly id: string;
  readonly token: string;
  readonly doorUrl: string;
}

export interface AgentSessionsDeps {
  readonly door: Door;
  /** A provider whose agent is offered the door's tool alone. */
  readonly providerOf: (launch: AgentLaunch) => Provider;
  readonly options: Readonly<Record<string, string>>;
  /** An empty folder. */
  readonly cwd: string;
  /** What the agent is, in its instructions. */
  readonly instructions: string;
}

/** An answer beyond this ends its turn, characters. */
const MAX_ANSWER = 262_144;
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
      if (turn.signal.aborted) throw err;
      throw new DomainError("unavailable", "agent unavailable", {
        fields: { reason: "agent unavailable" },
        cause: err,
      });
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

/** One agent of one thread. */
class Session implements AsyncDisposable {
  readonly #deps: AgentSessionsDeps;
  readonly #provider: Provider;
  readonly #handle: SessionHandle;
  readonly #admitted: Disposable;
  readonly #files: { current: FileTool | undefined };
  /** Stands before briefings, and no user can type it. */
  readonly #marker = randomBytes(8).toString("hex");
  #onEvent: (event: AgentEvent) => void = () => {};
  #isNew = true;
  isBusy = false;

  private constructor(
    deps: AgentSessionsDeps,
    started: { readonly provider: Provider; readonly handle: SessionHandle; readonly admitted: Disposable },
    files: { current: FileTool | undefined },
  ) {
    this.#deps = deps;
    this.#provider = started.provider;
    this.#handle = started.handle;
    this.#admitted = started.admitted;
    this.#files = files;
    void this.#follow();
  }

  static async start(deps: AgentSessionsDeps, signal: AbortSignal): Promise<Session> {
    const { door, cwd, options } = deps;
    const files: { current: FileTool | undefined } = { current: undefined };
    const token = randomBytes(32).toString("hex");
    const read = (path: string): ReadResult => files.current?.read(path) ?? { ok: false, reason: "not allowed" };
    const { port } = await door.listening;
    const id = randomUUID();
    const admitted = door.admit(token, { read });
    try {
      const provider = deps.providerOf({ id, token, doorUrl: `http://127.0.0.1:${port}/mcp` });
      const handle = await provider.start({ project: "desk", sessionId: id, repoPath: cwd, cwd, options }, signal);
      return new Session(deps, { provider, handle, admitted }, files);
    } catch (err) {
      admitted[Symbol.dispose]();
      throw err;
    }
  }

  async turn(turn: AgentTurn): Promise<string> {
    this.isBusy = true;
    this.#files.current = turn.files;
    const ended = Promise.withResolvers<void>();
    let printed = "";
    let hasBegun = false;
    this.#onEvent = (event) => {
      if (event.type === "output" && event.stream === "stdout") printed += event.text;
      if (event.type === "phase" && event.state === "busy") hasBegun = true;
      if (event.type === "phase" && event.state === "idle" && hasBegun) ended.resolve();
      if (event.type === "ended" || printed.length > MAX_ANSWER) ended.reject(new Error("the agent has ended"));
    };
    try {
      const input = { text: this.#message(turn), requestId: randomUUID() };
      const { outcome, error } = await this.#provider.send(this.#handle, input, turn.signal);
      if (outcome !== "submitted" && outcome !== "queued") throw new Error(`${outcome}: ${error}`);
      await raceSignal(ended.promise, turn.signal);
      this.#isNew = false;
      return wordsOf(printed);
    } finally {
      ended.promise.catch(() => {});
      this.#files.current = undefined;
      this.#onEvent = () => {};
      this.isBusy = false;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#admitted[Symbol.dispose]();
    await this.#provider.stop(this.#handle, 0);
  }

  /** Its first line is ours: programs take what begins with `/` for a command. */
  #message({ input, isBriefing, history, files }: AgentTurn): string {
    const said = isBriefing ? this.#briefing(input) : `A message:\n${input}`;
    if (!this.#isNew) return said;
    const names = files.names().join("\n");
    const past = history.slice(-MAX_REMINDED).map((turn) => this.#past(turn));
    return [this.#deps.instructions, `Files that you can read with read_file:\n${names}`, ...past, said].join("\n\n");
  }

  #past({ input, isBriefing, answer }: PastTurn): string {
    return isBriefing ? this.#briefing(input) : `An earlier message:\n${input}\nYour answer:\n${answer}`;
  }

  #briefing(text: string): string {
    return `[briefing ${this.#marker}]\n${text}\n[end of briefing ${this.#marker}]`;
  }

  async #follow(): Promise<void> {
    for await (const event of this.#provider.events(this.#handle)) this.#onEvent(event);
  }
}
