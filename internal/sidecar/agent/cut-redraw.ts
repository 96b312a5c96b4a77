import { plainText } from "../../base/sanitise.ts";
import type { Redraw } from "../../pane/screen/drawing.ts";
import type { PaneCut, PaneModes } from "../../tmux/pane/pane.ts";

/** tmux puts line-drawing characters between shift out and shift in. */
const LINES_AS_SO = "\x1b)0";
const LINES_AS_BEFORE = "\x0f\x1b)B";
const MOUSE = { none: "", standard: "\x1b[?1000h", button: "\x1b[?1002h", all: "\x1b[?1003h" } as const;

export interface RedrawOptions {
  /** How many lines of history were requested. */
  readonly history: number;
  /** The title before any program has set one. */
  readonly freshTitle: string;
}

/**
 * Turns a cut into bytes that draw it on a fresh terminal of its size: the terminal wraps joined rows again, and cursor
 * and modes are restored.
 */
export function redrawOfCut(cut: PaneCut, options: RedrawOptions): Redraw {
  const { facts, modes, main } = cut;
  const title = facts.title === options.freshTitle ? "" : `\x1b]2;${plainText(facts.title)}\x07`;
  const behind = main === undefined ? "" : `${rowsOf(main.history, true)}${mainScreen(main, cut)}\x1b[?1049h\x1b[H`;
  const at = cursor(facts.cursorX, modes.origin ? facts.cursorY - modes.scrollTop : facts.cursorY);
  return {
    text: `${title}${LINES_AS_SO}\x1b[?7h${behind}${rowsOf(cut.text)}\x1b[0m${LINES_AS_BEFORE}${modesOf(modes, facts.rows)}${at}`,
    cols: facts.cols,
    rows: facts.rows,
    hasHistory: options.history > 0,
  };
}

function rowsOf(text: string, hasMore = false): string {
  return hasMore ? text.replaceAll("\n", "\r\n") : text.replace(/\n$/, "").replaceAll("\n", "\r\n");
}

/**
 * The main screen behind an alternate one, with its cursor. If it was kept in another size, it comes back as tmux
 * resizes it: in a lower pane it first loses rows below the cursor, in a higher one the history fills it from above.
 */
function mainScreen({ screen, rows }: NonNullable<PaneCut["main"]>, { facts, modes }: PaneCut): string {
  const { savedX, savedY } = modes;
  const lines = screen.replace(/\n$/, "").split("\n");
  const below = Math.max(0, rows - 1 - savedY);
  const dropped = Math.min(below, Math.max(0, rows - facts.rows));
  const up = below - dropped;
  const kept = lines.slice(0, Math.max(1, lines.length - dropped)).join("\r\n");
  return `${kept}\x1b[0m\r${up > 0 ? `\x1b[${up}A` : ""}${savedX > 0 ? `\x1b[${savedX}C` : ""}`;
}

function cursor(x: number, y: number): string {
  return `\x1b[${y + 1};${x + 1}H`;
}

function modesOf(modes: PaneModes, rows: number): string {
  const scrolls = modes.scrollTop > 0 || modes.scrollBottom < rows - 1;
  return [
    scrolls ? `\x1b[${modes.scrollTop + 1};${modes.scrollBottom + 1}r` : "",
    modes.origin ? "\x1b[?6h" : "",
    modes.insert ? "\x1b[4h" : "",
    modes.cursorKeys ? "\x1b[?1h" : "",
    modes.keypad ? "\x1b=" : "",
    modes.wrap ? "" : "\x1b[?7l",
    MOUSE[modes.mouse],
    modes.mouseUtf8 ? "\x1b[?1005h" : "",
    modes.mouseSgr ? "\x1b[?1006h" : "",
    modes.bracketedPaste ? "\x1b[?2004h" : "",
    modes.cursorVisible ? "" : "\x1b[?25l",
  ].join("");
}
