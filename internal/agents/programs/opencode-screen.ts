import { textWidth } from "../../base/text-width.ts";
import type { ComposerView, ScreenView } from "../profile.ts";
import type { Screen, ScreenLine, ScreenRun } from "../screen.ts";
import { lineAt } from "../screen-text.ts";
import { BAR, isBarred, openCodeDialog, sliceColumns, visible } from "./opencode-dialog.ts";

const PASTE = /\[Pasted ~\d+ lines\]/g;
const INTERRUPT = /\besc (?:again to )?interrupt\b/;
const RETRY = /\bretrying\b.{0,40}\battempt\b|rate limit|usage limit/i;

/**
 * Reads OpenCode's screen. Composer and dialogs are behind a bar `┃` at the bottom of the screen; the composer's box
 * ends with `╹▀▀▀`, whose width separates the box from the side panel at its right. Colours follow the person's theme,
 * so they are only compared with each other.
 */
export function opencodeView(screen: Screen): ScreenView {
  const box = boxAtCursor(screen);
  if (box === undefined) {
    const dialog = openCodeDialog(screen);
    return { dialog };
  }
  const status = sliceColumns(lineAt(screen, box.floor + 1), 0, box.right);
  const busy = INTERRUPT.exec(status)?.[0];
  const parked = RETRY.exec(status)?.[0];
  return { composer: composerIn(screen, box), busy, parked };
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
  while (isBarred(screen, floor, left)) floor += 1;
  const closing = new RegExp(`^ {${left}}╹(▀{8,})`).exec(lineAt(screen, floor).slice(0, 1000));
  if (closing === null) return undefined;
  let ceiling = screen.cursorY;
  const right = left + 1 + (closing[1] ?? "").length;
  while (isBarred(screen, ceiling - 1, left) && !inMenu(screen, ceiling - 1, right)) ceiling -= 1;
  return { ceiling, floor, left, right };
}

/** A menu of commands or files is right above the box and has a bar at its right side too. */
function inMenu(screen: Screen, row: number, right: number): boolean {
  return sliceColumns(lineAt(screen, row), right - 1, right + 1).includes(BAR);
}

function composerIn(screen: Screen, box: Box): ComposerView {
  const info = box.floor - 1;
  const top = Math.min(box.ceiling + 1, info);
  const bottom = Math.max(top, info - 2);
  const rows: string[] = [];
  const muted = mutedColour(screen, info);
  for (let row = top; row <= bottom; row += 1)
    rows.push(sliceColumns(withoutMuted(screen.lines[row], muted), box.left + 3, box.right).trimEnd());
  const hint = screen.cursorY === top && screen.cursorX <= box.left + 3 && allMuted(screen, top, muted);
  const text = hint ? "" : rows.join("\n").trimEnd();
  return { top, bottom, text, pasteMarkers: text.match(PASTE)?.length ?? 0 };
}

/** A placeholder has the colour of the dot between the agent's and the model's name. */
function mutedColour(screen: Screen, info: number): string | undefined {
  return screen.lines[info]?.runs.find((run) => visible(run) === "·")?.fg;
}

/**
 * Blanks the muted text of a row: letters of the placeholder stay visible behind a character that OpenCode counts wider
 * than the terminal does.
 */
function withoutMuted(line: ScreenLine | undefined, muted: string | undefined): string {
  if (line === undefined || muted === undefined) return line?.text ?? "";
  const isTyped = (run: ScreenRun) => run.fg !== muted && visible(run) !== "" && visible(run) !== BAR;
  // A theme may have one colour for both.
  if (!line.runs.some(isTyped)) return line.text;
  return line.runs.map((run) => (run.fg === muted ? " ".repeat(textWidth(run.text)) : run.text)).join("");
}

function allMuted(screen: Screen, row: number, muted: string | undefined): boolean {
  const shown = screen.lines[row]?.runs.filter((run) => visible(run) !== "" && visible(run) !== BAR) ?? [];
  return muted !== undefined && shown.length > 0 && shown.every((run) => run.fg === muted);
}
