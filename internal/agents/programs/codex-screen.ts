import type { ComposerView, ScreenView } from "../profile.ts";
import type { Screen, ScreenLine } from "../screen.ts";
import { hasHint, isBlank, lastRow, lineAt, typedText } from "../screen-text.ts";
import { asksByTitle, codexDialog, isCodexFooter, isTurnOver } from "./codex-dialog.ts";

const REACH = 200;
/** The most status rows, or rows of the menu that is in their place. */
const MENU_ROWS = 12;
const PASTE = /\[Pasted Content \d+ chars\](?: #\d+)?/g;
const WORKING = /^[•◦] .{0,80}\((?:\d+[hms] ?)+ • esc to interrupt\)/u;
/** Begins the first row that Codex draws. */
const HEADER = /^ {2}>_ OpenAI Codex \(/;
/** The only text below the composer until the session has begun; then the row names the model too. */
const BEGINNING = "  ? for shortcuts";
/** The first item of the title is a spinner while Codex is working. */
const BUSY_TITLE = /^[⠀-⣿] /u;
/** Rows of Codex's own queue, and their continuations. */
const QUEUE = /^(?: {2}↳ | {4}| {2}└ |[•◦] (?:Messages to be submitted|Queued follow-up))/u;
/** Codex keeps this row up to date, and shows none when nothing runs. */
const BACKGROUND = /^ {2}(\d{1,3}) background terminals? running · /;
const PARKED = /hit your usage limit|usage limit reached|rate limit reached/i;

/**
 * Reads Codex's screen. The composer is the `›` row and the indented rows around the cursor; below it are only a blank
 * row and the status rows. While an answer streams, no row shows that Codex is working: the title does or, without a
 * title, the missing end of the turn.
 */
export function codexView(screen: Screen): ScreenView {
  const composer = composerRows(screen);
  if (composer === undefined) {
    const dialog = codexDialog(screen);
    return { dialog };
  }
  if (isBeginning(screen, composer)) return {};
  const behind = terminalsAbove(screen, composer.top - 1);
  const above = aboveComposer(screen, behind.above);
  const busy = above.working ?? titleMark(screen) ?? (screen.title === "" ? above.unfinished : undefined);
  return {
    composer,
    busy,
    parked: above.parked,
    background: behind.count === 0 ? undefined : [{ kind: "shell", count: behind.count }],
  };
}

/**
 * True if Codex has drawn its composer before the session behind it has begun, which may take a minute on a busy
 * machine.
 */
function isBeginning(screen: Screen, { top, bottom }: ComposerView): boolean {
  const shown = screen.lines.map(({ text }) => text.trimEnd());
  const below = shown.slice(bottom + 1).filter((text) => text !== "");
  const above = shown.slice(0, top).findLast((text) => text !== "" && !text.startsWith("    "));
  return below.length === 1 && below[0] === BEGINNING && above !== undefined && HEADER.test(above);
}

function composerRows(screen: Screen): ComposerView | undefined {
  let top = Math.min(screen.cursorY, screen.rows - 1);
  while (top > 0 && /^(?: {2}|$)/.test(lineAt(screen, top)) && screen.cursorY - top < REACH) top -= 1;
  if (asksByTitle(screen) || !isPrompt(screen.lines[top])) return undefined;
  const bottom = composerBottom(screen);
  if (bottom === undefined) return undefined;
  const rows: string[] = [];
  for (let row = top; row <= bottom; row += 1) rows.push(typedText(screen.lines[row]).slice(2));
  const shell = lineAt(screen, top).startsWith("!") ? "!" : "";
  const text = `${shell}${rows.join("\n")}`.trimEnd();
  const pasteMarkers = text.match(PASTE)?.length ?? 0;
  return { top, bottom, text, pasteMarkers };
}

/**
 * The prompt is bold, `›` in the default colour or `!` for shell commands; the chosen row of a list, which begins
 * alike, is styled as a whole, and the transcript's echo of a message is dim.
 */
function isPrompt(line: ScreenLine | undefined): boolean {
  const [first] = line?.runs ?? [];
  if (first === undefined || !first.bold || first.inverse || first.dim) return false;
  const mark = first.text.trim();
  return mark === "!" || (mark === "›" && first.fg === "default");
}

/** Below the draft are a blank row and the status rows or a menu; a draft that fills the screen pushes them out. */
function composerBottom(screen: Screen): number | undefined {
  const last = lastRow(screen);
  let row = last;
  while (row > screen.cursorY && !isBlank(screen, row)) row -= 1;
  if (row <= screen.cursorY) {
    // Codex's own text there has dim words, a draft has none.
    const filled = screen.cursorY >= screen.rows - 2 && !hasHint(screen.lines[last]);
    return filled ? Math.min(screen.rows - 1, Math.max(last, screen.cursorY)) : undefined;
  }
  if (last - row > MENU_ROWS) return undefined;
  for (let below = row; below <= last; below += 1) if (isCodexFooter(screen, below)) return undefined;
  while (row > screen.cursorY && isBlank(screen, row)) row -= 1;
  return row;
}

/** The count of background terminals in the row right above the composer, and the row from which to read on. */
function terminalsAbove(screen: Screen, from: number): { readonly count: number; readonly above: number } {
  let row = from;
  while (row > 0 && isBlank(screen, row)) row -= 1;
  const match = BACKGROUND.exec(lineAt(screen, row));
  return match === null ? { count: 0, above: from } : { count: Number(match[1]), above: row - 1 };
}

interface Above {
  readonly working?: string;
  readonly parked?: string | undefined;
  readonly unfinished?: string | undefined;
}

/** From the composer upwards: its own queue with headings, then the working row; the first other row ends it. */
function aboveComposer(screen: Screen, from: number): Above {
  for (let row = from; row >= Math.max(0, from - 60); row -= 1) {
    const text = lineAt(screen, row);
    if (WORKING.test(text)) return { working: text.slice(2, 60).split(" (", 1)[0] ?? "Working" };
    if (text !== "" && !QUEUE.test(text)) return ended(text);
  }
  return {};
}

function ended(text: string): Above {
  const parked = text.length < 400 ? PARKED.exec(text)?.[0] : undefined;
  return { parked, unfinished: isTurnOver(text) ? undefined : "a turn without its end" };
}

function titleMark(screen: Screen): string | undefined {
  return BUSY_TITLE.test(screen.title) ? "title" : undefined;
}
