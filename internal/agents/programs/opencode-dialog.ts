import { textWidth } from "../../base/text-width.ts";
import { type ChoiceReading, numberedChoices } from "../choices.ts";
import type { DialogKind, DialogView } from "../profile.ts";
import type { Screen, ScreenRun } from "../screen.ts";
import { firstWords, lastRow, lineAt } from "../screen-text.ts";

export const BAR = "┃";
/** Matches only the beginnings of the words, because a narrow screen cuts them short. */
const DIALOG_KEYS = /\b(?:enter (?:con|sub|sel)|esc (?:dis|can|clo|rej))/;
const HINT = /^\s*(?:ctrl\+|⇆|↑|←|enter|esc|tab)/;
/** In the row of keys, these tell whether the choices are a list above it or buttons in that row. */
const LIST_KEYS = /↑↓/;
const BUTTON_KEYS = /⇆/;
/** Columns of the side panel, and the screen width from which on there is one. */
const PANEL = 42;
const PANEL_FROM = 121;

const TITLES: readonly (readonly [DialogKind, RegExp])[] = [
  ["permission", /^\s*△ .*(?:Permission required|Always allow|Reject permission)/],
];

/** Rows and columns of a dialog: `keys` is the row that names its keys, `right` the first column beyond the box. */
interface Box {
  readonly top: number;
  readonly keys: number;
  readonly left: number;
  readonly right: number;
}

/**
 * A dialog is in the composer's place and extends to the last row. Its last rows name its keys, which tell whether its
 * choices are the buttons beside them or the list above them.
 */
export function openCodeDialog(screen: Screen): DialogView | undefined {
  const box = boxAtBottom(screen);
  if (box === undefined) return undefined;
  const rows = Array.from({ length: box.keys - box.top }, (_, i) =>
    inBox(screen, box, box.top + i).replace(/^ {1,2}/, ""),
  );
  const text = rows
    .map((row) => row.trimEnd())
    .join("\n")
    .trim();
  const keys = lineAt(screen, box.keys);
  const title = TITLES.find(([, pattern]) => pattern.test(text.split("\n", 1)[0] ?? ""))?.[0];
  const kind = title ?? (LIST_KEYS.test(keys) || /\besc dismiss\b/.test(keys) ? "question" : "other");
  const choices = choicesIn(screen, box);
  const shown = { kind, title: firstWords(text), text };
  if (choices?.type === "list") return { ...shown, choices: choices.choices };
  return { ...shown, choices: [], unclear: choices?.why };
}

function boxAtBottom(screen: Screen): Box | undefined {
  const last = lastRow(screen);
  const left = lineAt(screen, last).indexOf(BAR);
  if (left < 0 || left > 4) return undefined;
  let top = last;
  while (top > 0 && isBarred(screen, top - 1, left)) top -= 1;
  let keys = last;
  while (keys > last - 4 && !DIALOG_KEYS.test(lineAt(screen, keys))) keys -= 1;
  if (keys <= last - 4 || keys <= top) return undefined;
  return { top, keys, left, right: rightOf(screen, keys) };
}

/**
 * A wide screen may have a panel at its right, unless the keys, which are at the right end of the box, reach beyond its
 * edge.
 */
function rightOf(screen: Screen, keys: number): number {
  const edge = screen.cols - PANEL;
  const hasPanel = screen.cols >= PANEL_FROM && lineAt(screen, keys).length <= edge;
  return hasPanel ? edge : screen.cols;
}

export function isBarred(screen: Screen, row: number, left: number): boolean {
  const text = lineAt(screen, row);
  return text.charAt(left) === BAR && text.slice(0, left).trim() === "";
}

/** A row of the box, without its bar. */
function inBox(screen: Screen, { left, right }: Box, row: number): string {
  return sliceColumns(lineAt(screen, row), left + 1, right);
}

function choicesIn(screen: Screen, box: Box): ChoiceReading | undefined {
  const keys = lineAt(screen, box.keys);
  if (BUTTON_KEYS.test(keys)) return buttonsIn(screen, box);
  return LIST_KEYS.test(keys) ? listAbove(screen, box) : undefined;
}

/**
 * `1. Green` …, upwards from the keys; a description is indented further, a question is above in the same column. The
 * chosen one's number does not have the muted colour of the words in the key row.
 */
function listAbove(screen: Screen, box: Box): ChoiceReading | undefined {
  const muted = screen.lines[box.keys]?.runs.findLast((run) => /^(?:dis|sel|sub|con|can)/.test(visible(run)))?.fg;
  const text = (row: number): string => (row < box.top ? "" : inBox(screen, box, row));
  let anchor = box.keys - 1;
  while (anchor > box.top && text(anchor).slice(0, 5).trim() === "") anchor -= 1;
  const isSelected = (row: number): boolean => {
    const number = screen.lines[row]?.runs.find((run) => /^\d{1,2}\.$/.test(visible(run)));
    return number !== undefined && muted !== undefined && number.fg !== muted;
  };
  const leads = (before: string): boolean => before === "  ";
  const list = numberedChoices({ text, column: 2, leads, isSelected, anchor, from: box.top, to: box.keys - 1 });
  return list ?? { type: "unclear", why: "its choices are not on the screen", top: anchor, bottom: anchor };
}

/** `Allow once   Allow always   Reject   … enter confirm`: the words before the key hints, walked with the arrows. */
function buttonsIn(screen: Screen, { keys }: Box): ChoiceReading {
  const runs = screen.lines[keys]?.runs.filter((run) => visible(run) !== "" && visible(run) !== BAR) ?? [];
  const hints = runs.findIndex((run) => HINT.test(run.text));
  const words = runs.slice(0, Math.max(0, hints));
  const muted = runs.slice(hints).find((run) => /^(?:sel|con|full)/.test(visible(run)))?.fg;
  if (words.some((run) => / {2,}/.test(visible(run)))) {
    return { type: "unclear", why: "its buttons cannot be distinguished", top: keys, bottom: keys };
  }
  const choices = words.map((run, i) => ({ key: String(i + 1), label: visible(run), selected: run.fg !== muted }));
  if (choices.length < 2 || choices.filter((one) => one.selected).length !== 1) {
    return { type: "unclear", why: "not exactly one of its buttons is selected", top: keys, bottom: keys };
  }
  return { type: "list", choices, top: keys, bottom: keys };
}

export const visible = (run: ScreenRun): string => run.text.trim();

/** The columns `from`…`to` (excluded) of a row; a wide character counts two. */
export function sliceColumns(text: string, from: number, to: number): string {
  let column = 0;
  let out = "";
  for (const character of text.slice(0, 2000)) {
    if (column >= to) break;
    if (column >= from) out += character;
    column += textWidth(character);
  }
  return out;
}
