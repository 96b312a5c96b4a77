import type { ChoiceReading } from "./choices.ts";
import type { DialogChoice } from "./profile.ts";

/** A short label of words; fields, commands and descriptions hold other characters. */
const LABEL = /^\p{L}[\p{L}'’ -]{0,29}$/u;
/** Buttons are separated by room for the mark. */
const GAP = / {3,}/;

/**
 * `  Accept  ❯ Decline`: buttons beside each other, the selected one behind `mark`. No button is selected while the
 * mark is on another row. Keys are positions, `1` for the first. Undefined for a row that is anything else.
 */
export function buttonsIn(row: string, mark: string): readonly DialogChoice[] | undefined {
  const text = row.slice(0, 1000);
  const at = text.indexOf(mark);
  const plain = at < 0 ? text : `${text.slice(0, at)} ${text.slice(at + mark.length)}`;
  if (plain.includes(mark)) return undefined;
  const labels = plain.trim().split(GAP);
  if (labels.length < 2 || !labels.every((label) => LABEL.test(label))) return undefined;
  let end = 0;
  return labels.map((label, i) => {
    const column = plain.indexOf(label, end);
    end = column + label.length;
    return { key: String(i + 1), label, selected: at >= 0 && at === column - mark.length - 1 };
  });
}

/** Buttons as a list of one row. */
export function buttonList(choices: readonly DialogChoice[], row: number): ChoiceReading {
  if (choices.filter((one) => one.selected).length === 1) {
    return { type: "list", beside: true, choices, top: row, bottom: row };
  }
  return { type: "unclear", why: "not exactly one of its buttons is selected", top: row, bottom: row };
}
