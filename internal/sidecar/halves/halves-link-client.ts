import type { Socket } from "node:net";
import { raceSignal, within } from "../../base/abort.ts";
import { backoffStepMs } from "../../base/backoff.ts";
import type { Clock } from "../../base/clock.ts";
import type { Task } from "../../base/task-group.ts";
import type { ProcessFacts, WantedFacts } from "../../process/process-facts.ts";
import { onLines, writeLine } from "./halves-link-lines.ts";
import {
  type ControlAnswer,
  type ControlHello,
  type ControlMessage,
  parseControlAnswer,
  type SessionFate,
} from "./halves-link-messages.ts";

export interface HalvesLinkClientDeps {
  readonly clock: Clock;
  /** Begins to connect to the supervising half. May throw when there is nothing to connect to. */
  readonly connect: () => Socket;
  /** Called at most once per connection, when the peer sends something that no supervising half sends. */
  readonly onForeign: () => void;
}

const ALIVE_EVERY_MS = 1000;
/** The time for an answer: the supervising half has little else to do. */
const ANSWER_MS = 2000;
const RETRY = { firstMs: 20, maxMs: 200, factor: 2 };

/**
 * The serving half's end of the link. Connects again whenever the connection ends; the latest reports on the agent, on
 * serving, stopping and finishing are sent again on each new connection. What it reads may be hostile: the agent can
 * listen in the supervising half's place.
 */
export class HalvesLinkClient implements Task {
  readonly #deps: HalvesLinkClientDeps;
  readonly #asked = new Map<number, (answer: ControlAnswer | undefined) => void>();
  readonly #greeted = Promise.withResolvers<ControlHello>();
  #hello: ControlHello | undefined;
  #lastId = 0;
  #serving: ControlMessage | undefined;
  #agent: ControlMessage | undefined;
  #stop: ControlMessage | undefined;
  #finish: ControlMessage | undefined;
  #socket: Socket | undefined;

  constructor(deps: HalvesLinkClientDeps) {
    this.#deps = deps;
  }

  /** The supervising half's latest greeting; undefined before the first. */
  get hello(): ControlHello | undefined {
    return this.#hello;
  }

  /** The first hello; undefined when there is none within `ms`. @throws the signal's reason */
  async greeted(ms: number, signal: AbortSignal): Promise<ControlHello | undefined> {
    return await within(this.#deps.clock, ms, raceSignal(this.#greeted.promise, signal));
  }

  /** Reports that calls are answered now. */
  serving(): void {
    this.#serving = { type: "serving" };
    this.#tell(this.#serving);
  }

  /** Reports the pid of the agent's process, now and on each new connection. */
  agent(pid: number): void {
    this.#agent = { type: "agent", pid };
    this.#tell(this.#agent);
  }

  /** Asks for a new tmux server, with a new agent; lost while the link is broken. */
  renew(): void {
    this.#tell({ type: "renew" });
  }

  stop(order: { readonly graceMs: number; readonly force: boolean }): void {
    this.#stop = { type: "stop", ...order };
    this.#tell(this.#stop);
  }

  finish(exitCode: number): void {
    this.#finish = { type: "finish", exitCode };
    this.#tell(this.#finish);
  }

  /**
   * Facts about a process beside the agent, whose pids may not be this process's: the two halves can run in two
   * containers. Undefined if the supervising half does not answer.
   */
  async process(pid: number, wanted: WantedFacts = {}): Promise<ProcessFacts | undefined> {
    const { work = false, files = false } = wanted;
    return await this.#ask((id) => ({ type: "process", id, pid, work, files }));
  }

  /**
   * The fate of the session of the agent with this pid, see `SessionRescue.settle`. Undefined if it is not known (yet).
   */
  async session(pid: number): Promise<SessionFate | undefined> {
    return (await this.#ask((id) => ({ type: "session", id, pid })))?.session;
  }

  /**
   * How many processes of the agent's control group, in a cluster its container, the kernel has killed for lack of
   * memory. Undefined if the supervising half does not answer or the kernel does not report it.
   */
  async oomKills(): Promise<number | undefined> {
    return (await this.#ask((id) => ({ type: "oom-kills", id })))?.oomKills;
  }

  async #ask(question: (id: number) => ControlMessage): Promise<ControlAnswer | undefined> {
    if (this.#socket === undefined) return undefined;
    const id = ++this.#lastId;
    const { promise, resolve } = Promise.withResolvers<ControlAnswer | undefined>();
    this.#asked.set(id, resolve);
    this.#tell(question(id));
    try {
      return await within(this.#deps.clock, ANSWER_MS, promise);
    } finally {
      this.#asked.delete(id);
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    for (let attempt = 0; !signal.aborted; attempt++) {
      const startedAt = clock.monotonicMs();
      await this.#connected(signal);
      if (clock.monotonicMs() - startedAt > ALIVE_EVERY_MS) attempt = 0;
      await clock.sleep(backoffStepMs(RETRY, attempt), signal).catch(() => {});
    }
  }

  async #connected(signal: AbortSignal): Promise<void> {
    const socket = this.#open();
    if (socket === undefined) return;
    const closed = new AbortController();
    const foreign = onceOnly(this.#deps.onForeign);
    socket.on("error", () => {});
    socket.on("close", () => closed.abort());
    onLines(socket, (line) => this.#hear(line, foreign), foreign);
    socket.on("connect", () => {
      this.#socket = socket;
      this.#tell({ type: "alive" });
      const said = [this.#agent, this.#serving, this.#stop, this.#finish];
      for (const message of said) if (message !== undefined) this.#tell(message);
    });
    const either = AbortSignal.any([signal, closed.signal]);
    while (!either.aborted) {
      await this.#deps.clock.sleep(ALIVE_EVERY_MS, either).catch(() => {});
      this.#tell({ type: "alive" });
    }
    this.#socket = undefined;
    for (const answer of this.#asked.values()) answer(undefined);
    socket.destroy();
  }

  #open(): Socket | undefined {
    try {
      return this.#deps.connect();
    } catch {
      return undefined; // the socket does not exist yet, or is being made again
    }
  }

  #hear(line: string, foreign: () => void): void {
    const heard = parseControlAnswer(line);
    if (heard === undefined) foreign();
    else if ("type" in heard) {
      this.#hello = heard;
      this.#greeted.resolve(heard);
    } else this.#asked.get(heard.id)?.(heard);
  }

  #tell(message: ControlMessage): void {
    if (this.#socket !== undefined) writeLine(this.#socket, message);
  }
}

function onceOnly(act: () => void): () => void {
  let done = false;
  return () => {
    if (!done) act();
    done = true;
  };
}
