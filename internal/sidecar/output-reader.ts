import { rm } from "node:fs/promises";
import { join } from "node:path";
import { aborted } from "../base/abort.ts";
import type { Task } from "../base/task-group.ts";
import { EMULATOR_SCROLLBACK } from "../pane/output.ts";
import type { Environment } from "../tmux/environment.ts";
import { makeFifo, readFifo } from "../tmux/output-fifo.ts";
import type { TmuxPane } from "../tmux/pane.ts";
import type { LiveAgent } from "./live-agent.ts";

/**
 * Brings the pane's output to the agent's terminal. Each cut has a FIFO of its own: what an earlier pipe left in a shared
 * one would come after the cut, and be drawn twice.
 */
export class OutputReader implements Task {
  readonly #dir: string;
  readonly #env: Environment;
  readonly #agent: LiveAgent;
  readonly #failed = Promise.withResolvers<never>();
  #reading: { readonly stop: AbortController; readonly done: Promise<void>; readonly fifo: string } | undefined;
  #count = 0;

  /** `dir`: a private folder for the FIFOs. */
  constructor(agent: LiveAgent, options: { readonly dir: string; readonly env: Environment }) {
    this.#agent = agent;
    this.#dir = options.dir;
    this.#env = options.env;
    this.#failed.promise.catch(() => {}); // `run` throws it
  }

  /** Draws the pane anew and pipes what it prints from now on. tmux pipes no dead pane: its last screen is what there is. */
  async arm(pane: TmuxPane): Promise<void> {
    await this.#disarm();
    const facts = await pane.facts();
    if (facts.dead) {
      const text = await pane.capture({ start: -EMULATOR_SCROLLBACK, escapes: true, join: true });
      return await this.#agent.restart({ facts, text });
    }
    const fifo = join(this.#dir, `output-${process.pid}-${this.#count++}.fifo`);
    await makeFifo(fifo, this.#env);
    await this.#agent.restart(await pane.cutAndPipe(fifo, EMULATOR_SCROLLBACK));
    const stop = new AbortController();
    const done = readFifo(fifo, (chunk) => this.#agent.take(chunk), stop.signal);
    done.catch((err: unknown) => this.#failed.reject(err));
    this.#reading = { stop, done, fifo };
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      await Promise.race([aborted(signal), this.#failed.promise]);
    } finally {
      await this.#disarm();
    }
  }

  async #disarm(): Promise<void> {
    const reading = this.#reading;
    this.#reading = undefined;
    if (reading === undefined) return;
    reading.stop.abort();
    await reading.done.catch(() => {});
    await rm(reading.fifo, { force: true });
  }
}
