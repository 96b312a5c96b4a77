import { plainText } from "../../base/sanitise.ts";
import type { Redraw } from "../../pane/screen/drawing.ts";
import type { PaneCut, PaneModes } from "../../tmux/pane/pane.ts";

/** tmux gives characters of line drawing between shift out and shift in. */
const LINES_AS_SO = "\x1b)0";
const LINES_AS_BEFORE = "\x0f\x1b)B";
const MOUSE = { none: "", standard: "\x1b[?1000h", button: "\x1b[?1002h", all: "\x1b[?1003h" } as const;

/**
 * A cut as bytes that draw it on a fresh terminal of its size: the terminal wraps joined rows again, and cursor and modes come
 * to what they were. `history`: how many lines of it were asked for; `freshTitle`: the one that nobody has set.
 */
export function redrawOfCut(cut: PaneCut, options: { readonly history: number; readonly freshTitle: string }): Redraw {
  const { facts, modes, main } = cut;
  const title = facts.title === options.freshTitle ? "" : `\x1b]2;${plainText(facts.title)}\x07`;
  const behind =
    main === undefined
      ? ""
      : `${rowsOf(main.history, true)}${rowsOf(main.screen)}\x1b[0m${cursor(modes.savedX, modes.savedY)}\x1b[?1049h\x1b[H`;
  const at = cursor(facts.cursorX, modes.origin ? facts.cursorY - modes.scrollTop : facts.cursorY);
  return {
    text: `${title}${LINES_AS_SO}\x1b[?7h${behind}${rowsOf(cut.text)}\x1b[0m${LINES_AS_BEFORE}${modesOf(modes, facts.rows)}${at}`,
    cols: facts.cols,
    rows: facts.rows,
    hasHistory: options.history > 0,
  };
}

function rowsOf(text: string, goesOn = false): string {
  return goesOn ? text.replaceAll("\n", "\r\n") : text.replace(/\n$/, "").replaceAll("\n", "\r\n");
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
