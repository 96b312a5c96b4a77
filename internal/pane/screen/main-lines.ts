import type { IBuffer } from "@xterm/headless";
import type { ReportedCells } from "./reported-cells.ts";
import { rowText } from "./screen-lines.ts";

/** A line of the main screen: rows that the terminal wrapped are one. */
export interface MainLine {
  readonly text: string;
  /** True if the line was reported before and has not changed since. */
  readonly isReported: boolean;
  /**
   * True if `text` is only the rest of the line: it follows a part that was reported before, or that is no longer held.
   */
  readonly isRest: boolean;
  /** True if the line continues in the next one reported: its end is not there yet. */
  readonly hasMore: boolean;
  /** True if the cursor is in the line: the line may not be whole yet. */
  readonly hasCursor: boolean;
  /** True if a row of the line is on the screen. */
  readonly isStanding: boolean;
  /** The line's rows, counted from the oldest; `end` is the first row after the line. */
  readonly start: number;
  readonly end: number;
}

/** Reads the main screen and its history as lines, each with its reported part. */
export class MainLines {
  readonly #buffers: { readonly normal: IBuffer };
  readonly #cells: ReportedCells;

  constructor(buffers: { readonly normal: IBuffer }, cells: ReportedCells) {
    this.#buffers = buffers;
    this.#cells = cells;
  }

  /** The lines from row `from`, where one begins, up to the line with the last row before `to`. */
  from(from: number, to: number): MainLine[] {
    const { normal } = this.#buffers;
    const lines: MainLine[] = [];
    for (let y = from; y < to; ) {
      let end = y + 1;
      while (end < normal.length && normal.getLine(end)?.isWrapped === true) end++;
      lines.push(this.line(y, end, false));
      y = end;
    }
    return lines;
  }

  line(start: number, end: number, hasMore: boolean): MainLine {
    const { normal } = this.#buffers;
    let rest = start;
    while (rest < end && this.#cells.isReported(rest)) rest++;
    const added = rest === end ? this.#addedTo(end - 1) : "";
    if (added !== "") return { ...this.#known(start, end), text: added, isReported: false, isRest: true, hasMore };
    const isReported = rest === end;
    const isLater = !isReported && rest > start;
    let text = "";
    for (let y = isLater ? rest : start; y < end; y++) text += rowText(normal, y).text;
    if (isLater) text = this.#beyondReported(rest - 1) + text;
    const isRest = isLater || (!isReported && start === 0 && normal.getLine(0)?.isWrapped === true);
    return { ...this.#known(start, end), text, isReported, isRest, hasMore };
  }

  #known(start: number, end: number): Pick<MainLine, "hasCursor" | "isStanding" | "start" | "end"> {
    const { normal } = this.#buffers;
    const cursor = normal.baseY + normal.cursorY;
    return { hasCursor: start <= cursor && cursor < end, isStanding: end > normal.baseY, start, end };
  }

  /** First row of the line that this row belongs to. */
  startOf(y: number): number {
    let start = y;
    while (start > 0 && this.#buffers.normal.getLine(start)?.isWrapped === true) start--;
    return start;
  }

  /** The text printed after the reported part of a row; "": none, or the row was changed in its middle. */
  #addedTo(y: number): string {
    const from = this.#cells.addedFrom(y);
    return from === undefined ? "" : (this.#buffers.normal.getLine(y)?.translateToString(true, from) ?? "");
  }

  /** The rest, without marks, of a row whose beginning is marked. */
  #beyondReported(y: number): string {
    const { normal } = this.#buffers;
    const from = this.#cells.reportedCols(y);
    const { length } = rowText(normal, y).text;
    return from >= length ? "" : (normal.getLine(y)?.translateToString(false, from) ?? "");
  }
}
