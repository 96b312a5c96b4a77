import { rm } from "node:fs/promises";
import { join } from "node:path";
import { payloadName } from "../../agents/hook-lines.ts";
import type { AgentProfile, HookEvent } from "../../agents/profile.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import { readFifo } from "../../files/fifo.ts";
import { readPlainFile } from "../../files/plain-file.ts";

export interface HookReaderDeps {
  readonly logger: Logger;
  readonly profile: AgentProfile;
  readonly onEvent: (event: HookEvent) => void;
}

export interface HookReaderOptions {
  readonly fifo: string;
  /** Where payloads lie that the lines name. */
  readonly dir: string;
}

/** A line of a hook is one atomic write, so at most this long. */
const MAX_LINE_BYTES = 4096;
/** A message of 64 KiB escaped as JSON fits; more is not read. */
const MAX_PAYLOAD_BYTES = 1024 * 1024;

/** Turns what the agent's hooks write into events, in order. Payload files are removed once read. */
export class HookReader implements Task {
  readonly #deps: HookReaderDeps;
  readonly #options: HookReaderOptions;
  #pending = "";

  constructor(deps: HookReaderDeps, options: HookReaderOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  run(signal: AbortSignal): Promise<void> {
    return readFifo(this.#options.fifo, (chunk) => this.#take(chunk), signal);
  }

  async #take(chunk: Uint8Array): Promise<void> {
    const lines = (this.#pending + Buffer.from(chunk).toString("utf8")).split("\n");
    this.#pending = (lines.pop() ?? "").slice(-MAX_LINE_BYTES);
    for (const line of lines) await this.#read(line.slice(0, MAX_LINE_BYTES));
  }

  async #read(line: string): Promise<void> {
    const name = payloadName(line);
    const payload = name === undefined ? undefined : await this.#payload(name);
    const event = this.#deps.profile.readHook(line, payload);
    if (event === undefined) this.#deps.logger.debug("a hook's line was not understood");
    else this.#deps.onEvent(event);
  }

  async #payload(name: string): Promise<string | undefined> {
    const path = join(this.#options.dir, name);
    try {
      return await readPlainFile(path, MAX_PAYLOAD_BYTES);
    } catch {
      return undefined;
    } finally {
      await rm(path, { force: true, recursive: true }).catch(() => {});
    }
  }
}
