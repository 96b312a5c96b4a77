import type { PrintableText } from "../../../../internal/base/printable-text.ts";
import { type SizedTerminal, terminalSize } from "../../../../internal/cli/terminal-size.ts";

/** The part of a terminal that drawing needs; `process.stdout` fits. */
export interface DrawableTerminal extends SizedTerminal {
  write(text: string): unknown;
}

const HIDE_CURSOR = "\x1b[?25l";
const SHOW_CURSOR = "\x1b[?25h";
/** Synchronised output: a terminal that supports it shows the frame at once, others ignore it. */
const FRAME_BEGIN = "\x1b[?2026h";
const FRAME_END = "\x1b[?2026l";

/**
 * A block of lines that is redrawn in place, only where it changed, so that nothing flickers. Lines must fit the
 * terminal's width. Disposing leaves the last picture and restores the cursor below it.
 */
export class LiveScreen {
  readonly #terminal: DrawableTerminal;
  #shown: readonly string[] | undefined;
  #size = "";

  constructor(terminal: DrawableTerminal) {
    this.#terminal = terminal;
  }

  get columns(): number {
    return terminalSize(this.#terminal).columns;
  }

  /** The maximum number of lines in a picture: one row stays free for the cursor. */
  get maxLines(): number {
    return Math.max(2, terminalSize(this.#terminal).rows - 1);
  }

  draw(text: readonly PrintableText[]): void {
    const lines = text.map(String);
    const size = `${this.columns}x${this.maxLines}`;
    // A resize moves the old lines in ways that only the terminal knows: draw again on a clean screen.
    const again = this.#shown !== undefined && size !== this.#size;
    const shown = again ? [] : (this.#shown ?? []);
    const first = this.#shown === undefined ? HIDE_CURSOR : "";
    const height = Math.max(lines.length, shown.length);
    let out = again ? "\x1b[2J\x1b[H" : "";
    if (shown.length > 0) out += `\r\x1b[${shown.length}A`;
    for (let row = 0; row < height; row++) {
      const line = lines[row] ?? "";
      out += row < shown.length && shown[row] === line ? "\r\n" : `\r${line}\x1b[0m\x1b[K\r\n`;
    }
    this.#shown = Array.from({ length: height }, (_, row) => lines[row] ?? "");
    this.#size = size;
    this.#terminal.write(`${first}${FRAME_BEGIN}${out}${FRAME_END}`);
  }

  [Symbol.dispose](): void {
    if (this.#shown !== undefined) this.#terminal.write(`\x1b[0m${SHOW_CURSOR}`);
    this.#shown = undefined;
  }
}
