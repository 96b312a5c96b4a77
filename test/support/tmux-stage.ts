import { createWriteStream, type WriteStream } from "node:fs";
import { join } from "node:path";
import { FifoHolder, makeFifo } from "../../internal/tmux/output-fifo.ts";
import type { PaneCut } from "../../internal/tmux/pane.ts";
import { eventually, type TmuxSandbox, tmuxSandbox } from "./tmux-sandbox.ts";

/** Ends whatever sequence is open, in any terminal. */
const CLOSE = "\x18\x1b\\";

/** A real tmux pane that shows what it is given, byte for byte, and tells what it made of it. */
export class TmuxStage implements AsyncDisposable {
  readonly #box: TmuxSandbox;
  readonly #input: WriteStream;
  readonly #close: () => Promise<void>;
  #count = 0;

  private constructor(box: TmuxSandbox, input: WriteStream, close: () => Promise<void>) {
    this.#box = box;
    this.#input = input;
    this.#close = close;
  }

  static async open(cols: number, rows: number): Promise<TmuxStage> {
    // The FIFO stands in the folder that the pane starts in.
    const argv = [
      "sh",
      "-c",
      "stty raw -echo; while [ ! -e ready ]; do sleep 0.01; done; exec cat stage.fifo",
    ] as const;
    const box = await tmuxSandbox({ argv, cols, rows, timeoutMs: 30_000 });
    const path = join(box.dir, "stage.fifo");
    await makeFifo(path, process.env);
    const stop = new AbortController();
    const held = new FifoHolder(path).run(stop.signal);
    const input = createWriteStream(path);
    createWriteStream(join(box.dir, "ready")).end();
    return new TmuxStage(box, input, async () => {
      input.destroy();
      stop.abort();
      await held;
      await box[Symbol.asyncDispose]();
    });
  }

  /** The pane once it has taken in `bytes` after a reset. */
  async show(bytes: Uint8Array | string): Promise<PaneCut> {
    await this.#write(`${CLOSE}\x1b[?1049l\x1bc`);
    await this.#box.client.command(`clear-history -t ${this.#box.pane.id}`);
    await this.#write(bytes);
    return await this.#box.pane.cut(0);
  }

  async #write(bytes: Uint8Array | string): Promise<void> {
    const name = `stage-${this.#count++}`;
    this.#input.write(bytes);
    this.#input.write(`${CLOSE}\x1b]2;${name}\x07`);
    const ask = `display-message -p -t ${this.#box.pane.id} "#{pane_title}"`;
    await eventually(name, async () => (await this.#box.client.command(ask))[0] === name, 30_000);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}

/** What two panes are compared by: rows with their styles and wraps, cursor, modes, the screen behind an alternate one. */
export function comparablePane({ text, facts, modes, main }: PaneCut) {
  const { alternate, cursorX, cursorY } = facts;
  const { savedX, savedY, ...others } = modes;
  const saved = alternate ? { savedX, savedY } : {};
  return {
    rows: rowsOf(text),
    behind: main === undefined ? [] : rowsOf(main.screen),
    facts: { alternate, cursorX, cursorY, ...saved, ...others },
  };
}

/** Line drawing as tmux gives it, between shift out and shift in, and as it looks. */
const DRAWING = "`afgjklmnopqrstuvwxyz{|}~";
const DRAWN = "◆▒°±┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·";

function drawn(row: string): string {
  const look = (letter: string) => DRAWN[DRAWING.indexOf(letter)] ?? letter;
  return row.replaceAll(/\x0e([^\x0f]*)\x0f?/g, (_, letters: string) => [...letters].map(look).join(""));
}

/** Blanks at the end of a row are not told from cells that nobody wrote; styles are said where they begin. */
function rowsOf(text: string): readonly string[] {
  const rows = text.split("\n").map((row) => drawn(row).replace(/(?:\x1b\[[0-9;:]*m| )+$/, ""));
  return rows.slice(0, rows.findLastIndex((row) => row !== "") + 1);
}
