import { readdir, readFile } from "node:fs/promises";
import type { ModelServer } from "../../fakes/model-server.ts";

/** The record of the agent's own side, independent of senders and screens. */
export interface Receiver {
  /** The texts that the agent took, oldest first, over all its lives. */
  received(): Promise<readonly string[]>;
  /** The commands and tools that ran. */
  effects(): Promise<readonly string[]>;
}

/** A file with one line per text: JSON with `text`, or base64. */
export function fileReceiver(file: string, toolLog?: string): Receiver {
  return {
    received: async () => (await linesOf(file)).map(textIn),
    effects: async () => (toolLog === undefined ? [] : linesOf(toolLog)),
  };
}

function textIn(line: string): string {
  return line.startsWith("{") ? JSON.parse(line).text : Buffer.from(line, "base64").toString("utf8");
}

async function linesOf(file: string): Promise<readonly string[]> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.split("\n").filter((line) => line !== "");
}

/** Texts that agents add to a conversation by themselves. */
const NOT_SAID =
  /^\s*(?:<(?:system-reminder|environment_context|user_instructions|INSTRUCTIONS|permissions|turn_aborted|local-command|command-name)\b|\[Request interrupted by user|# AGENTS\.md)/;
/** The form in which Claude Code hands over a message that it held while it worked. */
const HELD =
  /^\s*(?:<system-reminder>\s*)?(?:The user sent a new message[^\n]*|[^\n]*new message from the user[^\n]*):?\n([\s\S]*?)\n\n(?:IMPORTANT:|This is how)[\s\S]*$/;

/**
 * The user's texts in the requests to the fake model. Each request carries the whole conversation so far, so the texts
 * that exceed those of the previous request are new; a conversation that starts again has only new texts.
 */
export class ModelReceiver implements Receiver {
  readonly #model: ModelServer;
  readonly #workdir: string;
  readonly #texts: string[] = [];
  readonly #effects: string[] = [];
  #known = new Map<string, number>();
  #read = 0;

  constructor(model: ModelServer, workdir: string) {
    this.#model = model;
    this.#workdir = workdir;
  }

  async received(): Promise<readonly string[]> {
    const { requests } = this.#model;
    for (; this.#read < requests.length; this.#read++) {
      const request = requests[this.#read];
      if (request?.withTools === true) this.#add(request.userTexts);
    }
    return [...this.#texts];
  }

  async effects(): Promise<readonly string[]> {
    const names = (await readdir(this.#workdir)).filter((name) => !name.startsWith("."));
    for (const name of names) if (!this.#effects.includes(name)) this.#effects.push(name);
    return [...this.#effects];
  }

  #add(userTexts: readonly string[]): void {
    const counts = new Map<string, number>();
    for (const block of userTexts) {
      const text = said(block);
      if (text === undefined) continue;
      const count = (counts.get(text) ?? 0) + 1;
      counts.set(text, count);
      if (count > (this.#known.get(text) ?? 0)) this.#texts.push(text);
    }
    this.#known = counts;
  }
}

function said(block: string): string | undefined {
  const held = HELD.exec(block)?.[1];
  if (held !== undefined) return held;
  return block.trim() === "" || NOT_SAID.test(block) ? undefined : block;
}
