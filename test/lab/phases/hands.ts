import { execFile } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { RunningSidecar } from "../../support/sidecar/sidecar.ts";
import type { Handwork } from "./truth.ts";

const run = promisify(execFile);
/** Agents leave on a second Ctrl-C within two seconds of the first. */
const BETWEEN_CTRL_C_MS = 2500;

/** A person's hands on the agent's terminal, past the sidecar, and a diary of when they were on it. */
export class Hands {
  readonly #socket: string;
  readonly #signal: AbortSignal;
  readonly #diary: { from: number; to: number; interruptedAt?: number }[] = [];
  #ctrlCAt = 0;

  constructor(sidecar: Pick<RunningSidecar, "stateDir">, signal: AbortSignal) {
    this.#socket = join(sidecar.stateDir, "tmux.sock");
    this.#signal = signal;
  }

  get diary(): readonly Handwork[] {
    return this.#diary;
  }

  /** Everything in `work` is this person's doing. */
  async busy<T>(work: () => Promise<T>): Promise<T> {
    const entry = { from: Date.now(), to: Number.POSITIVE_INFINITY };
    this.#diary.push(entry);
    try {
      return await work();
    } finally {
      entry.to = Date.now();
    }
  }

  /** Stops what the agent does. */
  async interrupt(): Promise<void> {
    const at = Date.now();
    await this.keys("Escape");
    this.#diary.push({ from: at, to: at, interruptedAt: at });
  }

  async keys(...names: string[]): Promise<void> {
    await this.#tmux("send-keys", "-t", "=claude:", ...names);
  }

  async type(text: string): Promise<void> {
    await this.#tmux("send-keys", "-t", "=claude:", "-l", "--", text);
  }

  /** Empties the composer as a person does. */
  async clear(): Promise<void> {
    await this.pause(Math.max(0, this.#ctrlCAt + BETWEEN_CTRL_C_MS - performance.now()));
    await this.keys("C-c");
    this.#ctrlCAt = performance.now();
  }

  async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#signal });
  }

  async #tmux(...args: string[]): Promise<void> {
    this.#signal.throwIfAborted();
    await run("tmux", ["-N", "-u", "-S", this.#socket, ...args]);
  }
}
