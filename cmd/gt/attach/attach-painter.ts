import { plainText } from "../../../internal/base/sanitise.ts";
import { clipText, textWidth } from "../../../internal/base/text-width.ts";
import { terminalSize } from "../../../internal/cli/terminal-size.ts";
import type { DrawableTerminal } from "../common/text/live-screen.ts";
import type { AttachScreen, WantedModes } from "./attach-screen.ts";

/** The part of the window that the person's terminal shows, by its first column and row. */
export interface Viewport {
  readonly x: number;
  readonly y: number;
}

/**
 * Switches to the alternate screen, so that the person's screen and title come back afterwards. Wrapping is off, so
 * that characters which a terminal considers too wide do not scroll the screen. Paste bracketing is always on: the
 * sidecar removes the brackets, and tmux adds them again for a program that wants them.
 */
export const ENTER = "\x1b[22;0t\x1b[?1049h\x1b[?7l\x1b[?2004h\x1b[m\x1b[H\x1b[2J";
/** Resets every mode that the painter may have set, from any state; harmless if none was. */
export const LEAVE =
  "\x1b[?2026l\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1l\x1b>\x1b[?2004l\x1b[0 q\x1b[?7h\x1b[m\x1b[?25h\x1b[?1049l\x1b[23;0t";

const FRAME_BEGIN = "\x1b[?2026h\x1b[?25l";
const FRAME_END = "\x1b[?2026l";
const MOUSE: Readonly<Record<WantedModes["mouse"], string>> = {
  none: "",
  press: "\x1b[?1000h\x1b[?1006h",
  drag: "\x1b[?1002h\x1b[?1006h",
  any: "\x1b[?1003h\x1b[?1006h",
};
const MOUSE_OFF = "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l";

/**
 * Draws a window on a person's terminal, but only what has changed. Of a larger window it shows the part with the
 * cursor; a smaller one gets an edge. Writes cells, styling, the cursor and the modes of `WantedModes`, and nothing
 * else.
 */
export class AttachPainter {
  readonly #terminal: DrawableTerminal;
  #rows: string[] = [];
  #size = "";
  #modes: Partial<WantedModes> = {};
  #viewport: Viewport = { x: 0, y: 0 };

  constructor(terminal: DrawableTerminal) {
    this.#terminal = terminal;
  }

  get columns(): number {
    return terminalSize(this.#terminal).columns;
  }

  get lines(): number {
    return terminalSize(this.#terminal).rows;
  }

  get viewport(): Viewport {
    return this.#viewport;
  }

  /** The terminal's contents are unknown from now on: the next picture is drawn whole. */
  forget(): void {
    this.#rows = [];
    this.#size = "";
    this.#modes = {};
  }

  /** `bar`: our own line in place of the last row, or of the first while the cursor is on the last. */
  paint(screen: AttachScreen, bar?: string): void {
    const { columns, lines } = this;
    const size = `${columns}x${lines}`;
    let out = "";
    if (size !== this.#size) {
      this.#rows = [];
      this.#size = size;
      out += "\x1b[m\x1b[H\x1b[2J";
    }
    this.#viewport = follow(this.#viewport, screen, columns, lines);
    const barRow = bar === undefined ? -1 : this.#barRow(screen);
    for (let row = 0; row < lines; row++) {
      const text = row === barRow ? barText(bar ?? "", columns) : this.#rowText(screen, row);
      if (text === (this.#rows[row] ?? "")) continue;
      this.#rows[row] = text;
      out += `\x1b[${row + 1};1H${text}\x1b[K`;
    }
    const { modes } = screen;
    const set = this.#modeChanges(modes);
    const cursor = this.#cursor(screen);
    const bell = screen.takeBells() > 0 ? "\x07" : "";
    // Without rows to draw there is no need to hide the cursor: it moves at once.
    this.#terminal.write(out === "" ? set + cursor + bell : FRAME_BEGIN + out + set + cursor + FRAME_END + bell);
  }

  #rowText(screen: AttachScreen, row: number): string {
    const { columns } = this;
    const { x, y } = this.#viewport;
    const edge = Math.min(screen.cols - x, columns);
    if (y + row > screen.rows) return "";
    if (y + row === screen.rows) return `\x1b[2m${"─".repeat(edge)}${edge < columns ? "┘" : ""}\x1b[m`;
    const { text: drawn, cells, isSure } = screen.row(y + row, x, columns);
    const text = isSure ? drawn : `\x1b[2K${drawn}`;
    if (screen.cols - x >= columns) return text;
    return `${text}${" ".repeat(edge - cells)}\x1b[2m│\x1b[m`;
  }

  #barRow(screen: AttachScreen): number {
    const last = this.lines - 1;
    return screen.cursor.y - this.#viewport.y >= last ? 0 : last;
  }

  #cursor(screen: AttachScreen): string {
    const row = screen.cursor.y - this.#viewport.y;
    const column = screen.cursor.x - this.#viewport.x;
    const place = `\x1b[${row + 1};${column + 1}H`;
    return `${place}\x1b[?25${screen.modes.cursorHidden ? "l" : "h"}`;
  }

  #modeChanges(wanted: WantedModes): string {
    const before = this.#modes;
    let out = "";
    if (wanted.mouse !== (before.mouse ?? "none")) out += MOUSE_OFF + MOUSE[wanted.mouse];
    if (wanted.applicationCursor !== (before.applicationCursor ?? false)) {
      out += `\x1b[?1${wanted.applicationCursor ? "h" : "l"}`;
    }
    if (wanted.applicationKeypad !== (before.applicationKeypad ?? false)) {
      out += wanted.applicationKeypad ? "\x1b=" : "\x1b>";
    }
    if (wanted.cursorStyle !== (before.cursorStyle ?? 0)) out += `\x1b[${wanted.cursorStyle} q`;
    if (wanted.title !== (before.title ?? "")) out += `\x1b]2;${wanted.title}\x1b\\`;
    this.#modes = wanted;
    return out;
  }
}

/** Moves the view no further than the cursor needs. */
function follow(view: Viewport, screen: AttachScreen, columns: number, lines: number): Viewport {
  const { cursor, cols, rows } = screen;
  return { x: along(view.x, cursor.x, cols, columns), y: along(view.y, cursor.y, rows, lines) };
}

function along(from: number, cursor: number, size: number, room: number): number {
  const last = Math.max(0, size - room);
  const shown = Math.min(Math.max(from, cursor - room + 1), cursor);
  return Math.min(Math.max(0, shown), last);
}

function barText(text: string, columns: number): string {
  const clipped = clipText(` ${plainText(text)} `, columns);
  return `\x1b[7m${clipped}${" ".repeat(Math.max(0, columns - textWidth(clipped)))}\x1b[m`;
}
