import type { DialogChoice } from "./profile.ts";
import type { Screen } from "./screen.ts";
import { lineAt } from "./screen-text.ts";

/** `❯ 1. Yes`, `  2. No`, `› 3) …`; the cursor, the number and the label. */
const NUMBERED = /^[ │┃]{0,4}([❯›>→▶] | {2}| )? ?(\d{1,2})[.)] +(\S.*)$/;
const CURSOR = /^[ │┃]{0,4}[❯›>→▶] +(\S.*)$/;

export interface ChoiceList {
  readonly choices: readonly DialogChoice[];
  readonly top: number;
  readonly bottom: number;
}

/** The numbered list between two rows (both inclusive) that counts 1, 2, 3…; the last one if there are several. */
export function numberedChoices(screen: Screen, from: number, to: number): ChoiceList | undefined {
  let found: { choices: DialogChoice[]; top: number; bottom: number } | undefined;
  for (let row = from; row <= to; row += 1) {
    const match = NUMBERED.exec(lineAt(screen, row).slice(0, 300));
    if (match === null) continue;
    const [, cursor = "", key = "", label = ""] = match;
    if (key === "1") found = { choices: [], top: row, bottom: row };
    if (found === undefined || Number(key) !== found.choices.length + 1) continue;
    found.choices.push({ key, label: label.trim(), selected: cursor.trim() !== "" });
    found.bottom = row;
  }
  return found !== undefined && found.choices.length > 1 ? found : undefined;
}

/**
 * A list without numbers that is walked with the arrows: the row with the cursor and its neighbours that start in the same
 * column as its label. Keys are positions, `1` for the first.
 */
export function cursorChoices(screen: Screen, from: number, to: number): ChoiceList | undefined {
  for (let row = to; row >= from; row -= 1) {
    const text = lineAt(screen, row).slice(0, 300);
    const match = CURSOR.exec(text);
    if (match === null) continue;
    const column = text.length - (match[1] ?? "").length;
    const sameColumn = (other: number): boolean => {
      const line = lineAt(screen, other);
      return other >= from && other <= to && line.slice(0, column).trim() === "" && /\S/.test(line.charAt(column));
    };
    let top = row;
    while (sameColumn(top - 1)) top -= 1;
    let bottom = row;
    while (sameColumn(bottom + 1)) bottom += 1;
    const choices: DialogChoice[] = [];
    for (let at = top; at <= bottom; at += 1) {
      choices.push({ key: String(at - top + 1), label: lineAt(screen, at).slice(column).trim(), selected: at === row });
    }
    return { choices, top, bottom };
  }
  return undefined;
}
