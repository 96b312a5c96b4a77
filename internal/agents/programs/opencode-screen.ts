import { textWidth } from "../../base/text-width.ts";
import type { ComposerView, DialogChoice, DialogKind, DialogView, ScreenView } from "../profile.ts";
import type { Screen, ScreenLine, ScreenRun } from "../screen.ts";
import { firstWords, lastRow, lineAt } from "../screen-text.ts";

const BAR = "┃";
const PASTE = /\[Pasted ~\d+ lines\]/g;
const INTERRUPT = /\besc (?:again to )?interrupt\b/;
/** Cut short on a narrow screen. */
const DIALOG_KEYS = /\b(?:enter (?:con|sub|sel)|esc (?:dis|can|clo|rej))/;
const HINT = /^\s*(?:ctrl\+|⇆|↑|←|enter|esc|tab)/;
const RETRY = /\bretrying\b.{0,40}\battempt\b|rate limit|usage limit/i;

/**
 * What OpenCode's screen says. Composer and dialogs stand behind a bar `┃` at the bottom of the screen; the composer's box
 * is closed by `╹▀▀▀`, whose width tells the box from the side panel at its right. Colours follow the person's theme, so
 * they are only compared with each other.
 */
export function opencodeView(screen: Screen): ScreenView {
  const box = boxAtCursor(screen);
  if (box === undefined) {
    const dialog = dialogAtBottom(screen);
    return dialog === undefined ? {} : { dialog };
  }
  const status = cut(lineAt(screen, box.floor + 1), 0, box.right);
  const busy = INTERRUPT.exec(status)?.[0];
  const parked = RETRY.exec(status)?.[0];
  const queued = queuedAbove(screen, box);
  return {
    composer: composerIn(screen, box),
    ...(busy === undefined ? {} : { busy }),
    ...(parked === undefined ? {} : { parked }),
    ...(queued.length === 0 ? {} : { queued }),
  };
}

/** Rows and columns of the composer's box: `ceiling` and `floor` are the blank first row and the closing row. */
interface Box {
  readonly ceiling: number;
  readonly floor: number;
  readonly left: number;
  readonly right: number;
}

function boxAtCursor(screen: Screen): Box | undefined {
  const left = lineAt(screen, screen.cursorY).indexOf(BAR);
  if (left < 0 || lineAt(screen, screen.cursorY).slice(0, left).trim() !== "") return undefined;
  let floor = screen.cursorY;
  while (barred(screen, floor, left)) floor += 1;
  const closing = new RegExp(`^ {${left}}╹(▀{8,})`).exec(lineAt(screen, floor).slice(0, 1000));
  if (closing === null) return undefined;
  let ceiling = screen.cursorY;
  const right = left + 1 + (closing[1] ?? "").length;
  while (barred(screen, ceiling - 1, left) && !inMenu(screen, ceiling - 1, right)) ceiling -= 1;
  return { ceiling, floor, left, right };
}

function barred(screen: Screen, row: number, left: number): boolean {
  const text = lineAt(screen, row);
  return text.charAt(left) === BAR && text.slice(0, left).trim() === "";
}

/** A menu of commands or files stands right on the box and has a bar at its right side too. */
function inMenu(screen: Screen, row: number, right: number): boolean {
  return cut(lineAt(screen, row), right - 1, right + 1).includes(BAR);
}

function composerIn(screen: Screen, box: Box): ComposerView {
  const info = box.floor - 1;
  const top = Math.min(box.ceiling + 1, info);
  const bottom = Math.max(top, info - 2);
  const rows: string[] = [];
  for (let row = top; row <= bottom; row += 1) rows.push(cut(lineAt(screen, row), box.left + 3, box.right).trimEnd());
  const hint = screen.cursorY === top && screen.cursorX <= box.left + 3 && allMuted(screen, top, info);
  const text = hint ? "" : rows.join("\n").trimEnd();
  return { top, bottom, text, pasteMarkers: text.match(PASTE)?.length ?? 0 };
}

/** A placeholder has the colour of the dot between the agent's and the model's name. */
function allMuted(screen: Screen, row: number, info: number): boolean {
  const muted = screen.lines[info]?.runs.find((run) => run.text.trim() === "·")?.fg;
  const shown = screen.lines[row]?.runs.filter((run) => visible(run) !== "" && visible(run) !== BAR) ?? [];
  return muted !== undefined && shown.length > 0 && shown.every((run) => run.fg === muted);
}

const visible = (run: ScreenRun): string => run.text.trim();

/** Messages that wait are the last ones of the transcript, each marked below its text. */
function queuedAbove(screen: Screen, box: Box): string[] {
  const queued: string[] = [];
  let rows: string[] | undefined;
  for (let row = box.ceiling - 1; row >= 0; row -= 1) {
    const text = cut(lineAt(screen, row), 0, box.right).trimEnd();
    const content = /^\s*┃ {0,3}(.*)$/.exec(text)?.[1];
    if (content?.trim() === "QUEUED") rows = [];
    else if (rows !== undefined && content !== undefined && content !== "") rows.unshift(content);
    else if (rows !== undefined && content === undefined) {
      queued.unshift(rows.join("\n"));
      rows = undefined;
    } else if (content === undefined && text !== "") break;
  }
  return queued;
}

const KINDS: readonly (readonly [DialogKind, RegExp])[] = [
  ["permission", /Permission required|Always allow|Reject permission/],
  ["question", /\d\. Type your own answer|\besc dismiss\b/],
];

/** A dialog takes the composer's place and goes down to the last row; its last rows name its keys. */
function dialogAtBottom(screen: Screen): DialogView | undefined {
  const last = lastRow(screen);
  const left = lineAt(screen, last).indexOf(BAR);
  if (left < 0 || left > 4) return undefined;
  let top = last;
  while (top > 0 && barred(screen, top - 1, left)) top -= 1;
  let keys = last;
  while (keys > last - 4 && !DIALOG_KEYS.test(lineAt(screen, keys))) keys -= 1;
  if (keys <= last - 4 || keys <= top) return undefined;
  const rows: string[] = [];
  for (let row = top; row < keys; row += 1)
    rows.push(
      lineAt(screen, row)
        .slice(left + 1)
        .replace(/^ {1,2}/, "")
        .split(/ {8,}/, 1)[0] ?? "",
    );
  const text = rows.join("\n").trim();
  const kind = KINDS.find(([, pattern]) => pattern.test(`${text}\n${lineAt(screen, keys)}`))?.[0] ?? "other";
  const choices = listChoices(screen, top, keys) ?? buttons(screen.lines[keys]);
  return { kind, title: firstWords(text), text, choices };
}

/** `1. Green` … The chosen one's number is not in the muted colour that the words of the key row have. */
function listChoices(screen: Screen, top: number, keys: number): DialogChoice[] | undefined {
  const muted = screen.lines[keys]?.runs.findLast((run) => /^(?:dis|sel|sub|con|can)/.test(visible(run)))?.fg;
  const choices: DialogChoice[] = [];
  for (let row = top; row < keys; row += 1) {
    const match = /^\s*┃\s+(\d{1,2})\. (\S.*)$/.exec(lineAt(screen, row).slice(0, 300));
    if (match === null || Number(match[1]) !== choices.length + 1) continue;
    const number = screen.lines[row]?.runs.find((run) => visible(run).startsWith(`${match[1]}.`));
    const label = (match[2] ?? "").split(/ {3,}/, 1)[0] ?? "";
    choices.push({ key: match[1] ?? "", label, selected: number !== undefined && number.fg !== muted });
  }
  return choices.length > 1 ? choices : undefined;
}

/** `Allow once   Allow always   Reject   … enter confirm`: the words before the key hints, walked with the arrows. */
function buttons(line: ScreenLine | undefined): DialogChoice[] {
  const runs = line?.runs.filter((run) => visible(run) !== "" && visible(run) !== BAR) ?? [];
  const hints = runs.findIndex((run) => HINT.test(run.text));
  const words = runs.slice(0, Math.max(0, hints));
  const muted = runs.slice(hints).find((run) => /^(?:sel|con|full)/.test(visible(run)))?.fg;
  return words.map((run, i) => ({ key: String(i + 1), label: visible(run), selected: run.fg !== muted }));
}

/** The columns `from`…`to` (excluded) of a row; a wide character counts two. */
function cut(text: string, from: number, to: number): string {
  let column = 0;
  let out = "";
  for (const character of text.slice(0, 2000)) {
    if (column >= to) break;
    if (column >= from) out += character;
    column += textWidth(character);
  }
  return out;
}
