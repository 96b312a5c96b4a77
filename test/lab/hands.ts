import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { execa } from "execa";
import type { RunningSidecar } from "../support/sidecar/sidecar.ts";

const PANE = "=claude:";
/** Agents exit on a second Ctrl-C within two seconds of the first. */
const BETWEEN_CTRL_C_MS = 2500;

/** A person's hands on the agent's terminal, past the sidecar. They stop once `signal` is aborted. */
export class Hands {
  readonly #socket: string;
  readonly #signal: AbortSignal | undefined;
  #ctrlCAt = 0;

  constructor(sidecar: Pick<RunningSidecar, "stateDir">, signal?: AbortSignal) {
    this.#socket = join(sidecar.stateDir, "tmux.sock");
    this.#signal = signal;
  }

  async keys(...names: string[]): Promise<void> {
    await this.#tmux("send-keys", "-t", PANE, ...names);
  }

  async type(text: string): Promise<void> {
    await this.#tmux("send-keys", "-t", PANE, "-l", "--", text);
  }

  /** Pastes as a delivery does. */
  async paste(text: string): Promise<void> {
    const paste = ["paste-buffer", "-d", "-p", "-r", "-b", "lab", "-t", PANE];
    await this.#tmux("set-buffer", "-b", "lab", "--", text, ";", ...paste);
  }

  /** Empties the composer as a person does. */
  async clear(): Promise<void> {
    await this.pause(Math.max(0, this.#ctrlCAt + BETWEEN_CTRL_C_MS - performance.now()));
    await this.keys("C-c");
    this.#ctrlCAt = performance.now();
  }

  async copyMode(isOn: boolean): Promise<void> {
    await this.#tmux("copy-mode", ...(isOn ? [] : ["-q"]), "-t", PANE);
  }

  async resize(cols: number, rows?: number): Promise<void> {
    const height = rows === undefined ? [] : ["-y", String(rows)];
    await this.#tmux("resize-window", "-t", PANE, "-x", String(cols), ...height);
  }

  async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, this.#signal === undefined ? {} : { signal: this.#signal });
  }

  async #tmux(...args: string[]): Promise<void> {
    this.#signal?.throwIfAborted();
    await execa("tmux", ["-N", "-u", "-S", this.#socket, ...args]);
  }
}
