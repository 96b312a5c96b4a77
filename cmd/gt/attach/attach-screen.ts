import type { IBufferCell, IBufferLine } from "@xterm/headless";
import { plainText } from "../../../internal/base/sanitise.ts";
import { TerminalModes } from "../../../internal/pane/screen/terminal-modes.ts";
import { type TmuxTerminal, tmuxTerminal } from "../../../internal/pane/screen/tmux-terminal.ts";

/** The terminal modes that a program wants, as far as they are passed on to the person's terminal. */
export interface WantedModes {
  readonly mouse: "none" | "press" | "drag" | "any";
  /** Mouse reports are encoded as SGR; otherwise in the old form, for positions up to 223. */
  readonly sgrMouse: boolean;
  readonly applicationCursor: boolean;
  readonly applicationKeypad: boolean;
  readonly cursorHidden: boolean;
  /** As in DECSCUSR; 0 is the terminal's default. */
  readonly cursorStyle: number;
  /** One line without control characters. */
  readonly title: string;
}

export interface PaintedRow {
  readonly text: string;
  /** The width of the row in cells. */
  readonly cells: number;
  /** Every terminal agrees on that width; otherwise some leave cells of the row unchanged. */
  readonly isSure: boolean;
}

const MOUSE = { none: "none", x10: "press", vt200: "press", drag: "drag", any: "any" } as const;
const TITLE_MAX = 200;

/**
 * The agent's window as an attached terminal keeps it, fed with the output of Attach. The person's picture is drawn
 * from its cells: no byte of the agent reaches a person's terminal.
 */
export class AttachScreen {
  readonly #terminal: TmuxTerminal;
  readonly #modes: TerminalModes;
  #title = "";
  #bells = 0;

  constructor(cols: number, rows: number) {
    this.#terminal = tmuxTerminal({ cols, rows, scrollback: 0 });
    this.#modes = new TerminalModes(this.#terminal);
    this.#terminal.onTitleChange((title) => {
      this.#title = plainText(title).replaceAll(/\s+/g, " ").slice(0, TITLE_MAX);
    });
    this.#terminal.onBell(() => {
      this.#bells++;
    });
  }

  get cols(): number {
    return this.#terminal.cols;
  }

  get rows(): number {
    return this.#terminal.rows;
  }

  get cursor(): { readonly x: number; readonly y: number } {
    const { cursorX, cursorY } = this.#terminal.buffer.active;
    return { x: Math.min(cursorX, this.cols - 1), y: cursorY };
  }

  get modes(): WantedModes {
    const { mouseTrackingMode, applicationCursorKeysMode, applicationKeypadMode } = this.#terminal.modes;
    return {
      mouse: MOUSE[mouseTrackingMode],
      sgrMouse: this.#modes.sgrMouse,
      applicationCursor: applicationCursorKeysMode,
      applicationKeypad: applicationKeypadMode,
      cursorHidden: this.#modes.cursorHidden,
      cursorStyle: this.#modes.cursorStyle,
      title: this.#title,
    };
  }

  /** The number of bells since the last call. */
  takeBells(): number {
    const bells = this.#bells;
    this.#bells = 0;
    return bells;
  }

  /** Resolves when the bytes have been processed. */
  write(data: Uint8Array): Promise<void> {
    return new Promise((resolve) => this.#terminal.write(data, resolve));
  }

  /** The next bytes are urgent: they answer a key. */
  expectEcho(): void {
    this.#terminal.input("", true);
  }

  resize(cols: number, rows: number): void {
    this.#terminal.resize(cols, rows);
    this.#modes.resized();
  }

  /**
   * Row `y` from column `from` on, `width` columns at most, as text with styling (SGR) that begins and ends plain;
   * blanks at the end are left out.
   */
  row(y: number, from: number, width: number): PaintedRow {
    const { active } = this.#terminal.buffer;
    const line = active.getLine(active.baseY + y);
    if (line === undefined) return { text: "", cells: 0, isSure: true };
    return paintRow(line, from, Math.min(width, this.cols - from), active.getNullCell());
  }
}

function paintRow(line: IBufferLine, from: number, width: number, cell: IBufferCell): PaintedRow {
  let isSure = true;
  let text = "";
  let cells = 0;
  let style = "";
  let blanks = 0;
  for (let x = 0; x < width; x++) {
    line.getCell(from + x, cell);
    const cut = cell.getWidth() === 0 ? x === 0 : cell.getWidth() === 2 && x === width - 1;
    if (cell.getWidth() === 0 && !cut) continue;
    const chars = cut || cell.isInvisible() ? " ".repeat(cut ? 1 : cell.getWidth()) : cell.getChars() || " ";
    const next = styleOf(cell);
    if (chars === " " && next === "" && style === "") {
      blanks++;
      continue;
    }
    text += " ".repeat(blanks);
    blanks = 0;
    if (next !== style) text += next === "" ? "\x1b[m" : `\x1b[0${next}m`;
    style = next;
    text += chars;
    // A terminal that computes another width must not shift the rest of the row.
    if (!isPlainlyOneCell(chars)) {
      isSure = false;
      if (x + cell.getWidth() < width) text += `\x1b[${x + cell.getWidth() + 1}G`;
    }
    cells = x + cell.getWidth();
  }
  return { text: style === "" ? text : `${text}\x1b[m`, cells, isSure };
}

/** Letters, digits, line drawing: every terminal shows these in one cell. */
function isPlainlyOneCell(chars: string): boolean {
  const code = chars.codePointAt(0) ?? 0;
  return chars.length === 1 && (code < 0x300 || (code >= 0x2500 && code < 0x25a0));
}

function styleOf(cell: IBufferCell): string {
  if (cell.isAttributeDefault()) return "";
  let style = "";
  if (cell.isBold()) style += ";1";
  if (cell.isDim()) style += ";2";
  if (cell.isItalic()) style += ";3";
  if (cell.isUnderline()) style += ";4";
  if (cell.isBlink()) style += ";5";
  if (cell.isInverse()) style += ";7";
  if (cell.isStrikethrough()) style += ";9";
  if (cell.isOverline()) style += ";53";
  if (!cell.isFgDefault()) style += `;${colour(cell.isFgRGB(), cell.getFgColor(), 30)}`;
  if (!cell.isBgDefault()) style += `;${colour(cell.isBgRGB(), cell.getBgColor(), 40)}`;
  return style;
}

function colour(isRgb: boolean, value: number, base: number): string {
  if (isRgb) return `${base + 8};2;${value >> 16};${(value >> 8) & 0xff};${value & 0xff}`;
  if (value < 8) return String(base + value);
  return value < 16 ? String(base + 52 + value) : `${base + 8};5;${value}`;
}
