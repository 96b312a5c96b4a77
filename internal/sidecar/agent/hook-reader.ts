import { fstatSync, lstatSync } from "node:fs";
import { payloadName } from "../../agents/hook-lines.ts";
import type { AgentProfile, HookEvent } from "../../agents/profile.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import { LineReader } from "../../base/text/line-reader.ts";
import { readOpenFifo } from "../../files/fifo.ts";
import type { PinnedFolder } from "../../files/pinned-folder.ts";

export interface HookReaderDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly profile: AgentProfile;
  readonly onEvent: (event: HookEvent) => void;
}

export interface HookReaderOptions {
  /** Folder and name of the FIFO; the agent can reach it. */
  readonly folder: PinnedFolder;
  readonly fifo: string;
  /** The folder of the payload files that the lines name. */
  readonly payloads: PinnedFolder;
}

/** A hook writes each line atomically, so a line is at most this long. */
const MAX_LINE_BYTES = 4096;
/** A message of 64 KiB escaped as JSON fits; more is not read. */
const MAX_PAYLOAD_BYTES = 1024 * 1024;
/** Hooks write some lines a second; in a flood, this many are read before other work gets a turn. */
const LINES_PER_TURN = 16;
/** How often to check that the FIFO is still the one that hooks write to. */
const LOOK_EVERY_MS = 1000;

/** Turns the lines of the agent's hooks into events, in order. Payload files are removed once read. */
export class HookReader implements Task {
  readonly #deps: HookReaderDeps;
  readonly #options: HookReaderOptions;
  readonly #lines = new LineReader(MAX_LINE_BYTES);

  constructor(deps: HookReaderDeps, options: HookReaderOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Does not read a file that was put in the FIFO's place; reads the next FIFO there. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const fd = this.#open();
      if (fd === undefined) {
        await this.#deps.clock.sleep(LOOK_EVERY_MS, signal).catch(() => {});
        continue;
      }
      const inode = fstatSync(fd).ino;
      const stop = new AbortController();
      const either = AbortSignal.any([signal, stop.signal]);
      const looking = this.#untilReplaced(inode, either).then(() => stop.abort());
      await readOpenFifo(fd, (chunk) => this.#take(chunk), either).finally(() => stop.abort());
      await looking;
    }
  }

  #open(): number | undefined {
    try {
      return this.#options.folder.openFifo(this.#options.fifo);
    } catch {
      return undefined;
    }
  }

  async #untilReplaced(inode: number, signal: AbortSignal): Promise<void> {
    const { folder, fifo } = this.#options;
    while (!signal.aborted) {
      await this.#deps.clock.sleep(LOOK_EVERY_MS, signal).catch(() => {});
      try {
        if (lstatSync(folder.place(fifo)).ino !== inode) return;
      } catch {
        // the FIFO is missing for a moment: the opened one is still read
      }
    }
  }

  async #take(chunk: Uint8Array): Promise<void> {
    for (const [index, { text }] of this.#lines.push(chunk).entries()) {
      if (index > 0 && index % LINES_PER_TURN === 0) await this.#deps.clock.sleep(0);
      await this.#read(text);
    }
  }

  async #read(line: string): Promise<void> {
    const name = payloadName(line);
    const payload = name === undefined ? undefined : await this.#payload(name);
    const event = this.#deps.profile.readHook(line, payload);
    if (event === undefined) this.#deps.logger.debug("a hook's line could not be parsed");
    else this.#deps.onEvent(event);
  }

  async #payload(name: string): Promise<string | undefined> {
    const { payloads } = this.#options;
    try {
      return await payloads.readText(name, MAX_PAYLOAD_BYTES);
    } catch {
      return undefined;
    } finally {
      payloads.remove(name);
    }
  }
}
