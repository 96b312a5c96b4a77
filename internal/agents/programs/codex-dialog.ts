import { type ChoiceList, type ChoiceReading, numberedChoices } from "../choices.ts";
import type { DialogKind, DialogView } from "../profile.ts";
import type { Screen } from "../screen.ts";
import { firstWords, isBlank, lastRow, lineAt, textOfRows } from "../screen-text.ts";

/** The title while a dialog waits. */
const ASKS = "[ ! ]";
const FOOTER =
  /\b(?:enter (?:to )?(?:confirm|submit|review|select|continue)|esc (?:to )?(?:cancel|skip|close|go back|dismiss))\b/i;
/** The last row of a turn that is over, or of a session without a turn. */
const TURN_OVER = /^(?: {2}Worked for |■ | {2}└ Tip:| {2}Tip:)/;
/** The chosen row begins with its mark in the first column; every other row of a dialog is indented by two. */
const NUMBERS = 2;
/** In a form all rows are indented by two, the mark too. */
const FORM_NUMBERS = 4;
const MARK = /[›>] $/;
/**
 * The head of a form names the field that is shown and the number of fields without an answer, which changes with each
 * key.
 */
const FORM_HEAD = /^(Field \d+\/\d+).*\n/;
const CUT = "the list is cut at the screen's end; make the terminal taller";

const KINDS: readonly (readonly [DialogKind, RegExp])[] = [
  ["trust", /Do you trust|Hooks need review|Trust all/i],
  ["login", /Sign in|log ?in|API key/i],
  ["limit", /usage limit|rate limit/i],
  ["plan", /Implement this plan|plan mode/i],
  ["permission", /Would you like to|Do you want to|Allow .*\?|needs? your approval/i],
  ["question", /Question \d+\/\d+|unanswered/i],
  ["picker", /Select |Choose|Pick|Resume|Update Model Permissions/i],
];

/**
 * A dialog is in the composer's place: indented rows, a numbered list, a row that names its keys. The list is right
 * above that row; a command is above the list, in the same column as its numbers.
 */
export function codexDialog(screen: Screen): DialogView | undefined {
  const last = lastRow(screen);
  const footer = footerRow(screen, last);
  if (footer < 0 && !asksByTitle(screen)) return undefined;
  const end = footer < 0 ? last : footer - 1;
  const list = footer < 0 ? undefined : listAbove(screen, footer);
  if (list === undefined && !asksByTitle(screen)) return undefined;
  const text = textOfRows(screen, dialogTop(screen, list?.top ?? end + 1), end).replace(FORM_HEAD, "$1\n");
  const body = text.replace(FORM_HEAD, "");
  const title = firstWords(body);
  const kind = [title, body].map(kindOf).find((one) => one !== undefined) ?? "other";
  const shown = { kind, title, text };
  if (kind === "permission" && list?.type === "list" && isCut(screen, list, footer))
    return { ...shown, choices: [], unclear: CUT };
  if (list?.type === "list") return { ...shown, choices: list.choices };
  return { ...shown, choices: [], unclear: list?.why ?? "they are not on the screen" };
}

export const asksByTitle = (screen: Screen): boolean => screen.title.startsWith(ASKS);
export const isCodexFooter = (screen: Screen, row: number): boolean => FOOTER.test(lineAt(screen, row));
export const isTurnOver = (text: string): boolean => TURN_OVER.test(text);
const kindOf = (words: string): DialogKind | undefined => KINDS.find(([, pattern]) => pattern.test(words))?.[0];

function footerRow(screen: Screen, last: number): number {
  for (let row = last; row > last - 3 && row >= 0; row -= 1) if (isCodexFooter(screen, row)) return row;
  return -1;
}

function listAbove(screen: Screen, footer: number): ChoiceReading | undefined {
  return listAt(screen, footer, NUMBERS) ?? listAt(screen, footer, FORM_NUMBERS);
}

/**
 * Reads upwards from the keys: the continuation of a choice is indented further than its number; an arrow means that
 * there are more choices.
 */
function listAt(screen: Screen, footer: number, column: number): ChoiceReading | undefined {
  const isMarked = (before: string) => MARK.test(before) && before.trimStart().length === 2;
  const isBeyond = (line: string) => /^(?:\s*|[↑↓]\s*)$/.test(line) || line.slice(0, column + 3).trim() === "";
  let anchor = footer - 1;
  while (anchor >= 0 && isBeyond(lineAt(screen, anchor))) anchor -= 1;
  return numberedChoices({
    text: (row) => lineAt(screen, row),
    column,
    leads: (before) => before.trim() === "" || isMarked(before),
    isSelected: (row) => isMarked(lineAt(screen, row).slice(0, column)),
    anchor,
    from: 0,
    to: footer - 1,
  });
}

/**
 * If there are too few rows, Codex drops the blank row above its keys first, and then the last choices. A command's
 * last choice is its "No", a tool's "Cancel".
 */
function isCut(screen: Screen, list: ChoiceList, footer: number): boolean {
  return !isBlank(screen, footer - 1) && !/^(?:No|Cancel)\b/.test(list.choices.at(-1)?.label ?? "");
}

/**
 * The transcript marks its rows in the first column, or ends with the last row of its turn, which is dim; a dialog
 * indents all rows but the chosen one.
 */
function dialogTop(screen: Screen, from: number): number {
  let row = from - 1;
  while (row >= 0 && /^(?:\s|$)/.test(lineAt(screen, row)) && !endsTurn(screen, row)) row -= 1;
  while (isBlank(screen, row + 1) && row + 1 < from) row += 1;
  return row + 1;
}

/** In a command that quotes such a row, the first word is neither dim nor bold. */
function endsTurn(screen: Screen, row: number): boolean {
  const first = screen.lines[row]?.runs.find((run) => run.text.trim() !== "");
  return isTurnOver(lineAt(screen, row)) && (first?.dim === true || first?.bold === true);
}
