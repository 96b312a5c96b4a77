import type { ChoiceReading } from "./choices.ts";
import type { Screen } from "./screen.ts";
import { lineAt } from "./screen-text.ts";

export interface UnnumberedPlace {
  /** The row with the mark, and the mark's column. */
  readonly anchor: number;
  readonly mark: number;
  /** The last row that may belong to the list. */
  readonly to: number;
}

/**
 * A list without numbers that is walked with the arrows: the marked row and its neighbours whose labels begin in the
 * same column. Keys are positions, `1` for the first. A tick between mark and label is not part of the label.
 */
export function unnumberedChoices(screen: Screen, { anchor, mark, to }: UnnumberedPlace): ChoiceReading | undefined {
  const text = lineAt(screen, anchor);
  const tick = /^ +(?:[✔✓] +)?/.exec(text.slice(mark + 1))?.[0];
  if (tick === undefined || text.length <= mark + 1 + tick.length) return undefined;
  const column = mark + 1 + tick.length;
  const isItem = (row: number): boolean => {
    const line = lineAt(screen, row);
    const before = line.slice(0, column).replace(/[✔✓]/, " ");
    return row >= 0 && row <= to && before.trim() === "" && /\S/.test(line.charAt(column));
  };
  let top = anchor;
  while (isItem(top - 1)) top -= 1;
  let bottom = anchor;
  while (isItem(bottom + 1)) bottom += 1;
  const choices = Array.from({ length: bottom - top + 1 }, (_, i) => ({
    key: String(i + 1),
    label: lineAt(screen, top + i)
      .slice(column)
      .trim(),
    selected: top + i === anchor,
  }));
  if (choices.length === 1 && choices.some(({ label }) => / {3,}| {2}❯ /.test(label))) {
    return { type: "unclear", why: "its only row may hold several choices", top, bottom };
  }
  return { type: "list", choices, top, bottom };
}
