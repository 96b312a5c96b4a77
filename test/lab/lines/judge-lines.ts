import { lineAt } from "./numbered-line.ts";

/** Marks a gap that the events reported: lines may be missing from the text there. */
export const GAP = "\n\0gap\n";
/** The lines that may have been on the screen when serving resumed: no screen has more rows. */
const SCREEN = 55;

/**
 * The faults in the reported lines among the first `printed` ones; empty: each came once, whole, in order. After a
 * reported gap, the first line that was on the screen may lack its beginning, and a line may come in two parts: tmux
 * forgets that two rows are one line when an alternate screen appears, and nothing else knows it.
 */
export function judgeLines(text: string, printed: number): readonly string[] {
  const faults: string[] = [];
  let due = 0;
  let isGap = false;
  let standing = 0;
  const lines = text.split("\n").filter((line) => line === GAP.trim() || /[<>]/.test(line));
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? "";
    if (line === GAP.trim()) {
      isGap = true;
      standing = SCREEN;
      continue;
    }
    if (isGap && !line.startsWith("<")) continue;
    const number = Number(/^<(\d{8}) /.exec(line)?.[1] ?? Number.NaN);
    const isInTwo = standing > 0 && isInParts(number, line, lines[i + 1] ?? "");
    if (isInTwo) i++;
    if (Number.isNaN(number) || !(isInTwo || line === lineAt(number))) faults.push(`not whole: ${line.slice(0, 80)}`);
    else if (number < due) faults.push(`again or out of order: ${number}, due ${due}`);
    else if (number > due && !isGap) faults.push(`missing: ${due} to ${number - 1}`);
    if (Number.isNaN(number)) continue;
    due = Math.max(due, number + 1);
    isGap = false;
    standing--;
  }
  if (due < printed && !isGap) faults.push(`missing at the end: ${due} to ${printed - 1}`);
  return faults;
}

/** Blanks at the end of a row may have been lost with the row. */
function isInParts(number: number, first: string, second: string): boolean {
  if (Number.isNaN(number)) return false;
  const whole = lineAt(number);
  return whole === `${first}${second}` || whole === `${first} ${second}`;
}
