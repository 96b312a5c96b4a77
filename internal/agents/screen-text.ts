import type { Screen, ScreenLine, ScreenRun } from "./screen.ts";

/** A row that is one horizontal line of box-drawing characters, a label near its end allowed (`──── name ──`). */
const RULE = /^\s?[─━]{8,}(?: \S[^─━]{0,60} [─━]{1,8})?$/;

export function lineAt(screen: Screen, row: number): string {
  return screen.lines[row]?.text ?? "";
}

export function isBlank(screen: Screen, row: number): boolean {
  return lineAt(screen, row).trim() === "";
}

export function isRule(text: string): boolean {
  return text.length >= 8 && text.length <= 1000 && RULE.test(text);
}

/** The last row that shows anything, or -1. */
export function lastRow(screen: Screen): number {
  for (let row = Math.min(screen.rows, screen.lines.length) - 1; row >= 0; row -= 1)
    if (!isBlank(screen, row)) return row;
  return -1;
}

/** The nearest rule at or above `from`, not further than `reach` rows; -1 if none. */
export function ruleAbove(screen: Screen, from: number, reach: number): number {
  for (let row = from; row >= Math.max(0, from - reach); row -= 1) if (isRule(lineAt(screen, row))) return row;
  return -1;
}

/**
 * The text typed in a row, without placeholders and suggestions: they are dim, or their first character is inverse
 * because the cursor is on it. `isLeft` selects the remains of an earlier drawing. Keeps the columns' order, cuts
 * trailing blanks.
 */
export function typedText(line: ScreenLine | undefined, isLeft: (run: ScreenRun) => boolean = () => false): string {
  if (line === undefined) return "";
  let out = "";
  line.runs.forEach((run, i) => {
    const next = line.runs[i + 1];
    const cursorOnHint = run.inverse && [...run.text].length === 1 && next !== undefined && isHint(next);
    out += isHint(run) || cursorOnHint || isLeft(run) ? " ".repeat(run.text.length) : run.text;
  });
  return out.trimEnd();
}

const isHint = (run: ScreenRun): boolean => run.dim && run.text.trim() !== "";

/** True if any visible character of the row is drawn dim. */
export function hasHint(line: ScreenLine | undefined): boolean {
  return line?.runs.some(isHint) ?? false;
}

const DRAWN = /^\s*(?:[─━╌┄┈═]{4,}|[\u2800-\u28ff ]+)\s*$/;

/** The rows `from`…`to` as text, without drawn lines, bars at the left and blank rows at either end. */
export function textOfRows(screen: Screen, from: number, to: number): string {
  const rows: string[] = [];
  for (let row = from; row <= to; row += 1) {
    const text = lineAt(screen, row);
    if (!DRAWN.test(text)) rows.push(text.replace(/^[ │┃]{1,4}/, "").trimEnd());
  }
  return rows.join("\n").replace(/^\n+/, "").trimEnd();
}

/** The first row of the text that contains a letter, without leading marks, cut to 200 characters. */
export function firstWords(text: string): string {
  return (text.split("\n").find((row) => /\p{L}/u.test(row)) ?? "")
    .replace(/^[^\p{L}\p{N}]+/u, "")
    .trim()
    .slice(0, 200);
}
