import { textWidth } from "../base/text-width.ts";
import type { Composer } from "./composer.ts";

/** The draft as rows of at most `columns` columns, and where the cursor is in them. */
export interface DraftRows {
  readonly rows: readonly string[];
  readonly cursorRow: number;
  readonly cursorColumn: number;
}

/** Wraps between characters, never inside a wide one; a row that is full sends the cursor to the next row. */
export function wrapDraft(composer: Composer, columns: number): DraftRows {
  const rows = [""];
  let width = 0;
  let cursor = { row: 0, column: 0 };
  const lineBreak = () => {
    rows.push("");
    width = 0;
  };
  const put = (text: string) => {
    const needed = textWidth(text);
    if (width + needed > columns && width > 0) lineBreak();
    rows[rows.length - 1] += text;
    width += needed;
  };
  composer.units.forEach((unit, index) => {
    const first = unit.type === "char" ? unit.text : (unit.label[0] ?? "");
    if (first !== "\n" && width + textWidth(first) > columns && width > 0) lineBreak();
    if (index === composer.cursor) cursor = { row: rows.length - 1, column: width };
    if (unit.type === "paste") for (const character of unit.label) put(character);
    else if (unit.text === "\n") lineBreak();
    else put(unit.text);
  });
  if (composer.cursor >= composer.units.length) {
    if (width >= columns) lineBreak();
    cursor = { row: rows.length - 1, column: width };
  }
  return { rows, cursorRow: cursor.row, cursorColumn: cursor.column };
}

/** Plain text as rows of at most `columns` columns, broken between characters. At least one row. */
export function wrapText(text: string, columns: number): string[] {
  const rows: string[] = [];
  for (const line of text.split("\n")) {
    let row = "";
    let width = 0;
    for (const character of line) {
      const needed = textWidth(row + character) - width;
      if (width + needed > columns && row !== "") {
        rows.push(row);
        row = "";
        width = 0;
      }
      row += character;
      width = textWidth(row);
    }
    rows.push(row);
  }
  return rows;
}
