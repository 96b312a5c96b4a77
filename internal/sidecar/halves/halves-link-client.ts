import { createConnection, type Socket } from "node:net";
import { withTimeout } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import type { Task } from "../../base/task-group.ts";
import { onLines } from "./halves-link-lines.ts";
import { type ControlMessage, type ProcessFacts, parseControlAnswer } from "./halves-link-messages.ts";

const ALIVE_EVERY_MS = 1000;
/** The supervising half has little else to do. */
const ANSWER_MS = 2000;

/** The serving half's voice. Connects again for ever; the last `stop` and `finish` are told anew after each connect. */
export class ControlClient implements Task {
  readonly #clock: Clock;
  readonly #path: string;
  readonly #asked = new Map<number, (facts: ProcessFacts | undefined) => void>();
  #lastId = 0;
  #stop: ControlMessage | undefined;
  #finish: ControlMessage | undefined;
  #socket: Socket | undefined;

  constructor(deps: { readonly clock: Clock }, path: string) {
    this.#clock = deps.clock;
    this.#path = path;
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
   * What there is to know of a process beside the agent, whose pids may not be this process's: the two halves can run in
   * two containers. Undefined when nobody answers.
   */
  async process(pid: number, what: { readonly work: boolean }): Promise<ProcessFacts | undefined> {
    if (this.#socket === undefined) return undefined;
    const id = ++this.#lastId;
    const { promise, resolve } = Promise.withResolvers<ProcessFacts | undefined>();
    this.#asked.set(id, resolve);
    this.#tell({ type: "process", id, pid, work: what.work });
    try {
      return await withTimeout(this.#clock, ANSWER_MS, "the supervising half's answer", promise);
    } catch {
      return undefined;
    } finally {
      this.#asked.delete(id);
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#connected(signal);
      await this.#clock.sleep(200, signal).catch(() => {});
    }
  }

  async #connected(signal: AbortSignal): Promise<void> {
    const socket = createConnection(this.#path);
    const closed = new AbortController();
    socket.on("error", () => {});
    socket.on("close", () => closed.abort());
    onLines(socket, (line) => this.#hear(line));
    socket.on("connect", () => {
      this.#socket = socket;
      this.#tell({ type: "alive" });
      for (const message of [this.#stop, this.#finish]) if (message !== undefined) this.#tell(message);
    });
    const either = AbortSignal.any([signal, closed.signal]);
    while (!either.aborted) {
      await this.#clock.sleep(ALIVE_EVERY_MS, either).catch(() => {});
      this.#tell({ type: "alive" });
    }
    this.#socket = undefined;
    for (const answer of this.#asked.values()) answer(undefined);
    socket.destroy();
  }

  #hear(line: string): void {
    const answer = parseControlAnswer(line);
    if (answer === undefined) return;
    const { id, ...facts } = answer;
    this.#asked.get(id)?.(facts);
  }

  #tell(message: ControlMessage): void {
    this.#socket?.write(`${JSON.stringify(message)}\n`);
  }
}
