import { lineAt } from "./numbered-line.ts";

/** Stands in the text where the events named a gap: lines may be missing there. */
export const GAP = "\n\0gap\n";

/** What is wrong with the lines that were told of the first `printed` ones; empty: each once, whole, in order. */
export function judgeLines(text: string, printed: number): readonly string[] {
  const faults: string[] = [];
  let due = 0;
  let isGap = false;
  for (const line of text.split("\n")) {
    if (line === GAP.trim()) isGap = true;
    if (!/[<>]/.test(line)) continue;
    // The beginning of the first one is in the gap where tmux has forgotten that two rows are one line.
    if (isGap && !line.startsWith("<")) continue;
    const number = Number(/^<(\d{8}) /.exec(line)?.[1] ?? Number.NaN);
    if (Number.isNaN(number) || line !== lineAt(number)) faults.push(`not whole: ${line.slice(0, 80)}`);
    else if (number < due) faults.push(`again or out of order: ${number}, due ${due}`);
    else if (number > due && !isGap) faults.push(`missing: ${due} to ${number - 1}`);
    if (Number.isNaN(number)) continue;
    due = Math.max(due, number + 1);
    isGap = false;
  }
  if (due < printed && !isGap) faults.push(`missing at the end: ${due} to ${printed - 1}`);
  return faults;
}
