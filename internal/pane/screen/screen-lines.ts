import type { IBuffer, IBufferCell, IBufferLine } from "@xterm/headless";
import type { ScreenLine, ScreenRun } from "../../agents/screen.ts";
import type { TextRow } from "./peek-text.ts";

/** A row of the history. */
export interface HistoryRow extends TextRow {
  /** True if the row below continues this one without a line break. */
  readonly hasMore: boolean;
}

/** A row of a buffer, counted from its oldest; trailing blanks are removed unless the next row continues from it. */
export function rowText(buffer: IBuffer, y: number): HistoryRow {
  const line = buffer.getLine(y);
  const next = buffer.getLine(y + 1);
  const continues = next?.isWrapped ?? false;
  const text = line?.translateToString(!continues) ?? "";
  const wrapped = line?.isWrapped ?? false;
  if (!continues) return { text, wrapped, hasMore: false };
  // A wide character that did not fit at the end of the row left an unwritten cell there.
  const unwritten = line?.getCell(line.length - 1)?.getChars() === "" && next?.getCell(0)?.getWidth() === 2;
  const isGap = unwritten && line?.getCell(line.length - 1)?.getWidth() === 1;
  return { text: isGap ? text.slice(0, -1) : text, wrapped, hasMore: true };
}

/** A row of the screen as text and as stretches of one style. */
export function readLine(line: IBufferLine | undefined, cell: IBufferCell, cols: number): ScreenLine {
  if (line === undefined) return { text: "", runs: [], wrapped: false };
  const runs: ScreenRun[] = [];
  let run: { text: string; bold: boolean; dim: boolean; inverse: boolean; fg: string } | undefined;
  let attributes = -1;
  let colour = -1;
  for (let x = 0; x < cols; x++) {
    line.getCell(x, cell);
    if (cell.getWidth() === 0) continue;
    const bits = (cell.isBold() ? 1 : 0) | (cell.isDim() ? 2 : 0) | (cell.isInverse() ? 4 : 0) | cell.getFgColorMode();
    const fg = cell.getFgColor();
    if (run === undefined || bits !== attributes || fg !== colour) {
      run = {
        text: "",
        bold: (bits & 1) !== 0,
        dim: (bits & 2) !== 0,
        inverse: (bits & 4) !== 0,
        fg: colourName(cell),
      };
      runs.push(run);
      attributes = bits;
      colour = fg;
    }
    run.text += cell.getChars() || " ";
  }
  return {
    text: line.translateToString(true).trimEnd(),
    runs: withoutTrailingBlanks(runs),
    wrapped: line.isWrapped,
  };
}

function colourName(cell: IBufferCell): string {
  if (cell.isFgDefault()) return "default";
  if (cell.isFgRGB()) return `#${cell.getFgColor().toString(16).padStart(6, "0")}`;
  return String(cell.getFgColor());
}

function withoutTrailingBlanks(runs: readonly ScreenRun[]): readonly ScreenRun[] {
  const kept = [...runs];
  for (let last = kept.at(-1); last !== undefined && !last.inverse; last = kept.at(-1)) {
    const text = last.text.trimEnd();
    kept.pop();
    if (text === "") continue;
    kept.push({ ...last, text });
    break;
  }
  return kept;
}
