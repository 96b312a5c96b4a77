import { type Habitual, insideOf } from "./tmux-inside.ts";

/** A bit of a cell's background word: no style of the emulator uses it, and it goes wherever the cell goes. */
const REPORTED = 0x8000_0000;
const WORDS_A_CELL = 3;
const BACKGROUND = 2;

/**
 * Marks cells of the main screen and its history as reported. A mark stays with the cell's content when lines are
 * wrapped again at another width, scroll or come back, and is gone when something else is printed in the cell.
 */
export class ReportedCells {
  readonly #terminal: Habitual;

  constructor(terminal: Habitual) {
    this.#terminal = terminal;
  }

  /** True if the row's first cell is marked; rows count from the oldest. */
  isReported(y: number): boolean {
    return isMarked(this.#words(y), 0);
  }

  /** The first column without a mark; the row's length when all of it is marked. */
  reportedCols(y: number): number {
    const words = this.#words(y);
    const cols = (words?.length ?? 0) / WORDS_A_CELL;
    let x = 0;
    while (x < cols && isMarked(words, x)) x++;
    return x;
  }

  /**
   * The first column after the marked part of the row; undefined: the row has no marked part, or nothing follows it, or
   * more marked cells do.
   */
  addedFrom(y: number): number | undefined {
    const words = this.#words(y);
    const used = insideOf(this.#terminal).buffers.normal.lines.get(y)?.getTrimmedLength() ?? 0;
    const from = this.reportedCols(y);
    if (from === 0 || from >= used) return undefined;
    for (let x = from; x < used; x++) if (isMarked(words, x)) return undefined;
    return from;
  }

  /** Notes that this row continues from a row that is not held any more. */
  continues(y: number): void {
    const line = insideOf(this.#terminal).buffers.normal.lines.get(y);
    if (line !== undefined) line.isWrapped = true;
  }

  /** Marks the rows from `from` up to, not including, `to`. */
  mark(from: number, to: number): void {
    for (let y = from; y < to; y++) {
      const words = this.#words(y);
      if (words === undefined) continue;
      for (let i = BACKGROUND; i < words.length; i += WORDS_A_CELL) words[i] = ((words[i] ?? 0) | REPORTED) >>> 0;
    }
  }

  #words(y: number): Uint32Array | undefined {
    return insideOf(this.#terminal).buffers.normal.lines.get(y)?._data;
  }
}

function isMarked(words: Uint32Array | undefined, x: number): boolean {
  return ((words?.[x * WORDS_A_CELL + BACKGROUND] ?? 0) & REPORTED) !== 0;
}
