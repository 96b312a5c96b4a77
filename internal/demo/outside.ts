import { appendFileSync, closeSync, constants, fstatSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { HookLine } from "./model.ts";

/** The agent's traces: the ground truth for tests, and the hooks that a supervisor reads. */
export interface Outside {
  /** A message that the agent really took. */
  took(text: string, via: "direct" | "queue", at: number): void;
  /** A line for the tool log: the command that a real agent would have run. */
  tool(text: string): void;
  hook(line: HookLine): void;
}

export interface OutsidePaths {
  /** One JSON line per message. */
  readonly log: string | undefined;
  readonly toolLog: string | undefined;
  /** A FIFO that another process may have open. */
  readonly hookFifo: string | undefined;
  /** The folder in which the reader of the FIFO finds the texts of prompts. */
  readonly hookDir: string | undefined;
}

export interface OutsideNames {
  /** Distinguishes the names of spooled prompts from those of other processes. */
  readonly process: string;
  /** The id of the agent's conversation. */
  readonly session: string;
}

/** Writes at once, so that a reader who saw the screen finds the file complete. */
export class FileOutside implements Outside {
  readonly #paths: OutsidePaths;
  readonly #names: OutsideNames;
  #prompts = 0;

  constructor(paths: OutsidePaths, names: OutsideNames) {
    this.#paths = paths;
    this.#names = names;
  }

  took(text: string, via: "direct" | "queue", at: number): void {
    if (this.#paths.log === undefined) return;
    appendFileSync(this.#paths.log, `${JSON.stringify({ text, at: new Date(at).toISOString(), via })}\n`);
  }

  tool(text: string): void {
    if (this.#paths.toolLog !== undefined) appendFileSync(this.#paths.toolLog, `${text}\n`);
  }

  hook(line: HookLine): void {
    if (this.#paths.hookFifo !== undefined) writeFifo(this.#paths.hookFifo, `${this.#hookText(line)}\n`);
  }

  #hookText(line: HookLine): string {
    if (line.type === "session-start") return `session-start\nsession ${this.#names.session}`;
    if (line.type === "waiting") return `waiting ${line.reason}`;
    if (line.type !== "prompt-submitted" || this.#paths.hookDir === undefined) return line.type;
    const name = `prompt-${this.#names.process}-${++this.#prompts}`;
    try {
      writeFileSync(join(this.#paths.hookDir, name), line.prompt, { mode: 0o600, flag: "wx" });
    } catch {
      return line.type; // The event matters more than the prompt's text.
    }
    return `prompt-submitted ${name}`;
  }
}

/**
 * Writes less than PIPE_BUF bytes in one call, so that lines of several writers never mix. Does nothing if the FIFO has
 * no reader or is full, or if the file is not a FIFO.
 */
function writeFifo(path: string, text: string): void {
  let file: number;
  try {
    file = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return;
  }
  try {
    if (fstatSync(file).isFIFO()) writeSync(file, text);
  } catch {
    // A full FIFO. Hooks are evidence: losing one must never stop the agent.
  } finally {
    closeSync(file);
  }
}
