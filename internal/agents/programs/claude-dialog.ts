import { buttonList, buttonsIn } from "../buttons.ts";
import { type ChoiceReading, numberedChoices } from "../choices.ts";
import type { DialogKind, DialogView } from "../profile.ts";
import type { Screen } from "../screen.ts";
import { firstWords, isBlank, isRule, lastRow, lineAt, ruleAbove, textOfRows } from "../screen-text.ts";
import { unnumberedChoices } from "../unnumbered-choices.ts";

/** How far above its choices a dialog may begin. */
const REACH = 200;
/** How many rows below its choice the cursor may be when a typed answer wraps. */
const TYPED_ROWS = 8;
const MARK = "❯";
const FOOTER =
  /\b(?:Esc to (?:cancel|exit|go back|close|skip)|Enter to (?:confirm|select|continue|save|submit|set))\b/i;

/** Marks the footer of a form: its fields are walked like its buttons, and Enter on a field decides nothing. */
const FORM = /\b(?:Backspace to unset|Space to toggle)\b/i;

const KINDS: readonly (readonly [DialogKind, RegExp])[] = [
  ["question", /^\s*(?:←\s+)?[☐☒✔]\s/],
  ["trust", /trust this folder|Do you trust|Accessing workspace|Bypass Permissions mode/i],
  ["theme", /text style that looks best|^\s*Theme$/m],
  ["login", /Select login method|custom API key|Paste code here|log ?in/i],
  ["limit", /limit (?:reached|hit)|hit your (?:\w+ )?limit/i],
  ["plan", /Exit plan mode|Ready to code|Claude has written up a plan|Would you like to proceed\?/i],
  ["permission", /Do you want to (?:proceed|make|create|allow|overwrite|run|use)|needs your permission/i],
  ["question", /Type something|Chat about this/],
  ["picker", /Select model|Rewind|Resume|Choose|Switch between/i],
];

/**
 * A dialog fills the screen from its line down to the last row. Its choices are the rows around the one with the
 * program's mark and cursor; text that a command or a question quotes is elsewhere.
 */
export function claudeDialog(screen: Screen): DialogView | undefined {
  const last = lastRow(screen);
  const footer = footerRow(screen, last);
  const end = footer < 0 ? last : footer - 1;
  const ruled = isWide(screen, ruleAbove(screen, last, REACH));
  const atCursor = rowAtCursor(screen, end) ?? buttonAtCursor(screen, end);
  const marked = atCursor ?? (ruled ? (markedButtons(screen, end) ?? lowestMarked(screen, end)) : undefined);
  // The line of a dialog that is taller than the screen is not visible.
  if (!ruled && (atCursor === undefined || footer < 0)) return undefined;
  const list = marked === undefined ? undefined : (formAt(screen, marked, end) ?? listAt(screen, marked, end));
  // Without a footer the list itself must be the last thing on the screen.
  if (footer < 0 && (list === undefined || last - list.bottom > 1)) return undefined;
  const top = dialogTop(screen, list?.top ?? last);
  const text = textOfRows(screen, top, end);
  const kind = kindOf(screen, text, list);
  const shown = { kind, title: firstWords(text), text };
  if (list?.type === "list") return { ...shown, choices: list.choices, beside: list.beside };
  const why = list?.why ?? (kind === "other" ? undefined : "none of its choices is marked");
  return { ...shown, choices: [], unclear: why };
}

/** True for a row that names the keys of a dialog. */
export function isClaudeFooter(screen: Screen, row: number): boolean {
  return FOOTER.test(lineAt(screen, row));
}

/** The agent's own lines span the screen; a line inside a message begins after the first column or is shorter. */
export function isWide(screen: Screen, row: number): boolean {
  const text = lineAt(screen, row);
  return text.startsWith("─") && text.length >= screen.cols - 2;
}

function footerRow(screen: Screen, last: number): number {
  for (let row = last; row > last - 3 && row >= 0; row -= 1) if (isClaudeFooter(screen, row)) return row;
  return -1;
}

const markColumn = (screen: Screen, row: number): number => lineAt(screen, row).search(/\S/);
const isMarked = (screen: Screen, row: number): boolean => lineAt(screen, row).trimStart().startsWith(MARK);

/** The cursor is on the mark, or after the text typed on the choice. */
function rowAtCursor(screen: Screen, end: number): number | undefined {
  for (let row = screen.cursorY; row > screen.cursorY - TYPED_ROWS && row >= 0 && row <= end; row -= 1) {
    if (isMarked(screen, row)) return row;
    if (isBlank(screen, row) || !lineAt(screen, row).startsWith("  ")) return undefined;
  }
  return undefined;
}

/**
 * For choices that leave the cursor elsewhere ("Chat about this" below its line). Nothing is quoted below the choices.
 */
function lowestMarked(screen: Screen, end: number): number | undefined {
  const top = dialogTop(screen, end);
  for (let row = end; row >= top; row -= 1) if (isMarked(screen, row)) return row;
  return undefined;
}

/** The last row that shows anything above the footer, where a form has its buttons. */
function lastFilled(screen: Screen, end: number): number {
  let row = end;
  while (row > 0 && isBlank(screen, row)) row -= 1;
  return row;
}

/** The row of buttons at a dialog's end, when the mark is on one of them. */
function markedButtons(screen: Screen, end: number): number | undefined {
  const row = lastFilled(screen, end);
  return buttonsIn(lineAt(screen, row), MARK)?.some((one) => one.selected) ? row : undefined;
}

function buttonAtCursor(screen: Screen, end: number): number | undefined {
  const row = markedButtons(screen, end);
  return row === screen.cursorY ? row : undefined;
}

/**
 * A form's buttons if the mark is on them; `unclear` if it is on a field. Undefined if the marked row belongs to a
 * list.
 */
function formAt(screen: Screen, marked: number, end: number): ChoiceReading | undefined {
  const row = lastFilled(screen, end);
  const buttons = buttonsIn(lineAt(screen, row), MARK);
  const last = lastRow(screen);
  if (buttons !== undefined && marked === row && !isBesideOthers(screen, row)) return buttonList(buttons, row);
  const footer = Array.from({ length: last - end }, (_, i) => lineAt(screen, end + 1 + i)).join(" ");
  const isNumbered = /^\s*❯ +\d{1,2}[.)] /.test(lineAt(screen, marked));
  if (isNumbered || (buttons === undefined && !FORM.test(footer))) return undefined;
  return { type: "unclear", why: "a field of its form is selected, and none of its buttons", top: marked, bottom: row };
}

/** True if the row above has buttons too: such rows belong to a table. */
function isBesideOthers(screen: Screen, row: number): boolean {
  return buttonsIn(lineAt(screen, row - 1), MARK) !== undefined;
}

function listAt(screen: Screen, anchor: number, end: number): ChoiceReading | undefined {
  const mark = markColumn(screen, anchor);
  const numbered = numberedChoices({
    text: (row) => lineAt(screen, row),
    column: mark + 2,
    leads: (before) => /^[ ❯↑↓]*$/.test(before) && before.slice(0, mark).trim() === "" && before.endsWith(" "),
    isSelected: (row) => lineAt(screen, row).charAt(mark) === MARK,
    isDivider: (row) => isWide(screen, row) && isRule(lineAt(screen, row)),
    anchor,
    from: 0,
    to: end,
  });
  return numbered ?? unnumberedChoices(screen, { anchor, mark, to: end });
}

/**
 * The first row of a dialog, below its line. A dialog may contain more lines: the highest one counts, up to the first
 * row of the transcript.
 */
function dialogTop(screen: Screen, from: number): number {
  let top = ruleAbove(screen, from, REACH);
  if (top < 0 || !isWide(screen, top)) return 0;
  for (
    let above = ruleAbove(screen, top - 1, 30);
    above >= 0 && isWide(screen, above);
    above = ruleAbove(screen, above - 1, 30)
  ) {
    // Within one dialog no row between its lines belongs to the transcript.
    const between = textOfRows(screen, above + 1, top - 1);
    if (/^[●❯⏺]\s(?!\d+\.)|^ {2}⎿/m.test(between) || between === "") break;
    top = above;
  }
  return top + 1;
}

/**
 * Determines the kind from the program's own rows, which are the first row and the row above the choices; if they do
 * not show it, from the whole text, which may contain quotations.
 */
function kindOf(screen: Screen, text: string, list: ChoiceReading | undefined): DialogKind {
  let above = (list?.top ?? 0) - 1;
  while (above > 0 && isBlank(screen, above)) above -= 1;
  const title = text.split("\n").find((row) => row.trim() !== "") ?? "";
  for (const words of [title, lineAt(screen, above), text]) {
    const kind = KINDS.find(([, pattern]) => pattern.test(words))?.[0];
    if (kind !== undefined) return kind;
  }
  return "other";
}
