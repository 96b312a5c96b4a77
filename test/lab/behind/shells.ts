import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Behind } from "./truth.ts";

const LOOK_MS = 50;

/**
 * A unique command: its duration identifies it. `seconds` is at least 1.
 * @param index below 1,000
 */
export function sleepCommand(seconds: number, index: number): string {
  return `sleep ${seconds}.${String(process.pid % 100_000).padStart(5, "0")}${String(index).padStart(3, "0")}`;
}

/** Watches one command from its first process to its end. */
export class WatchedShell {
  readonly #argv: string;
  #pid: number | undefined;
  #from: number | undefined;
  #to: number | undefined;

  constructor(command: string) {
    this.#argv = `${command.replaceAll(" ", "\0")}\0`;
  }

  get behind(): Behind | undefined {
    if (this.#from === undefined) return undefined;
    return { kind: "shell", from: this.#from, to: this.#to };
  }

  /** Resolves once it has ended, or `signal` is aborted. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.#to === undefined) {
      this.#look();
      await sleep(LOOK_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** @throws Error if it is not running */
  kill(): void {
    if (this.#pid === undefined || this.#to !== undefined) throw new Error("the shell to kill does not run");
    process.kill(this.#pid, "SIGKILL");
  }

  #look(): void {
    if (this.#pid === undefined) {
      this.#pid = pidOf(this.#argv);
      if (this.#pid !== undefined) this.#from = Date.now();
    } else if (commandLine(this.#pid) !== this.#argv) this.#to = Date.now();
  }
}

function pidOf(argv: string): number | undefined {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const found = pids.find((pid) => commandLine(Number(pid)) === argv);
  return found === undefined ? undefined : Number(found);
}

function commandLine(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return undefined; // it has ended
  }
}
