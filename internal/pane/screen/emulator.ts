import { TextDecoder } from "node:util";
import type { IBuffer, IBufferCell } from "@xterm/headless";
import type { Screen, ScreenLine } from "../../agents/screen.ts";
import type { MainLine } from "./main-lines.ts";
import type { TextRow } from "./peek-text.ts";
import { readLine, rowText } from "./screen-lines.ts";
import { drawRows, REDRAW_RESET, sgrOf } from "./screen-redraw.ts";
import { type ScrollListener, ScrollReporter } from "./scroll-reporter.ts";
import { TerminalModes } from "./terminal-modes.ts";
import { type TmuxTerminal, tmuxTerminal } from "./tmux-terminal.ts";

export interface EmulatorOptions {
  readonly cols: number;
  readonly rows: number;
  /**
   * Lines of history kept here; tmux has the deeper history. At most about 2000, because each line costs 12 bytes a
   * column.
   */
  readonly scrollback: number;
}

/** Precedes the drawing that replaces the screen: a command that no program sends. */
const REPLACES = 7790;
/** The main screen, everything as at the start, no history and no title. */
const FORGET = "\x1b[?1049l\x1bc\x1b[3J\x1b]2;\x07";

/**
 * The agent's screen as a terminal would show it, fed with the bytes the agent printed. Answers to terminal queries are
 * dropped, because tmux sends them.
 */
export class Emulator {
  readonly #terminal: TmuxTerminal;
  readonly #modes: TerminalModes;
  readonly #reporter: ScrollReporter;
  #decoder = utf8Decoder();
  #title = "";
  #version = 0;
  #cached: { readonly version: number; readonly screen: Screen } | undefined;
  #redrawn: { readonly version: number; readonly text: string } | undefined;
  /** Called once, when the terminal reaches the drawing that replaces the screen. */
  #replaces: (() => void) | undefined;

  constructor(options: EmulatorOptions) {
    this.#terminal = tmuxTerminal(options, (move) => {
      this.#version++; // a listener that looks now, within a chunk, sees the text that is erased
      this.#reporter.erasing(move);
    });
    this.#reporter = new ScrollReporter(this.#terminal, options.scrollback);
    this.#modes = new TerminalModes(this.#terminal);
    this.#terminal.parser.registerCsiHandler({ final: "J" }, ([what]) => {
      if (what === 3 && !this.alternate) this.#reporter.clearing();
      return false;
    });
    this.#terminal.parser.registerEscHandler({ final: "c" }, () => {
      this.#version++;
      this.#reporter.restarting();
      return false;
    });
    this.#terminal.parser.registerOscHandler(REPLACES, () => {
      this.#replaces?.();
      this.#replaces = undefined;
      return true;
    });
    this.#terminal.onTitleChange((title) => {
      this.#title = title;
    });
  }

  /** Counts writes and resizes: the screen can only have changed when this has. */
  get version(): number {
    return this.#version;
  }

  get cols(): number {
    return this.#terminal.cols;
  }

  get rows(): number {
    return this.#terminal.rows;
  }

  /** Lines that have scrolled off the main screen and are still held. */
  get historyLines(): number {
    return this.#terminal.buffer.normal.baseY;
  }

  get alternate(): boolean {
    return this.#terminal.buffer.active.type === "alternate";
  }

  get cursor(): { readonly x: number; readonly y: number } {
    const { cursorX, cursorY } = this.#terminal.buffer.active;
    return { x: Math.min(cursorX, this.#terminal.cols - 1), y: cursorY };
  }

  /** True if nothing follows the cursor in its row of the main screen. */
  get isAtRowEnd(): boolean {
    const { normal } = this.#terminal.buffer;
    return (normal.getLine(normal.baseY + normal.cursorY)?.translateToString(true, normal.cursorX) ?? "") === "";
  }

  /**
   * From now on lines that scroll off the main screen are reported. One listener; give chunks of fewer lines than
   * `scrollback`.
   */
  listen(listener: ScrollListener): void {
    this.#reporter.listen(listener);
  }

  /** Reports the lines that have scrolled off, and returns those that have a row on the main screen, top to bottom. */
  standingLines(): readonly MainLine[] {
    this.#reporter.tell(true);
    return this.#reporter.standing();
  }

  /** Lines that have been reported, on the main screen and up to `rows` rows above it, oldest first. */
  reportedEnd(rows: number): readonly MainLine[] {
    return this.#reporter.reportedEnd(rows);
  }

  /** First row of the screen, counted as in `MainLine`. */
  get screenTop(): number {
    return this.#terminal.buffer.normal.baseY;
  }

  /** Lines that have scrolled off the main screen and are still held, oldest first. */
  historyOfLines(): readonly MainLine[] {
    return this.#reporter.history();
  }

  /**
   * Call it when these standing lines have been reported: they are not reported again when they scroll off, unless they
   * change.
   */
  markReported(lines: readonly MainLine[]): void {
    this.#reporter.reported(lines);
  }

  /** Rows of the main screen up to the last one that is not empty. */
  get usedRows(): number {
    const { normal } = this.#terminal.buffer;
    let used = this.rows;
    while (used > 0 && (normal.getLine(normal.baseY + used - 1)?.translateToString(true) ?? "") === "") used--;
    return used;
  }

  /** True if the main screen, which was behind an alternate one, was drawn from a capture that may have been cut. */
  get isMainUnknown(): boolean {
    return this.#reporter.isMainUnknown;
  }

  /** Lines that scroll off wait until the screen is known exactly, as long as there is room for them. */
  holdLines(isHeld: boolean): void {
    this.#reporter.hold(isHeld);
    if (!isHeld) this.#reporter.tell();
  }

  /**
   * Resolves when the bytes have been taken in; a chunk is never seen half done. `onTaken` runs at that very moment.
   */
  write(data: Uint8Array | string, onTaken?: () => void): Promise<void> {
    // The terminal's own decoder loses a character whose second byte of 0x80 begins a chunk (U+200D, …).
    const text = typeof data === "string" ? data : this.#decoder.decode(data, { stream: true });
    return new Promise((resolve) => {
      this.#terminal.write(text, () => {
        this.#version++;
        this.#reporter.tell();
        onTaken?.();
        resolve();
      });
    });
  }

  /**
   * Resets everything and draws `text` on a terminal of that size, without a blank screen in between. Until it is
   * drawn, lines are reported from the earlier screen.
   */
  replace(text: string, cols: number, rows: number, onTaken?: () => void): Promise<void> {
    this.#decoder = utf8Decoder();
    let before: readonly MainLine[] = [];
    let quiet: ReturnType<ScrollReporter["pause"]> | undefined;
    this.#replaces = () => {
      before = this.#reporter.all();
      quiet = this.#reporter.pause();
      this.resize(cols, rows);
    };
    return this.write(`\x1b]${REPLACES};\x07${FORGET}${text}`, () => {
      quiet?.resume();
      this.#reporter.adopt(before);
      this.#reporter.hold(false);
      onTaken?.();
      this.#reporter.tell();
    });
  }

  /** Forgets everything, history and modes included. */
  reset(): void {
    this.#terminal.reset();
    this.#modes.reset();
    this.#decoder = utf8Decoder();
    this.#title = "";
    this.#version++;
    this.#reporter.begin();
  }

  resize(cols: number, rows: number): void {
    if (cols === this.cols && rows === this.rows) return;
    this.#terminal.resize(cols, rows);
    this.#modes.resized();
    this.#version++;
    this.#reporter.tell();
  }

  /** The screen as data; the same object until something was written. */
  screen(): Screen {
    if (this.#cached?.version === this.#version) return this.#cached.screen;
    const buffer = this.#terminal.buffer.active;
    const cell = buffer.getNullCell();
    const lines: ScreenLine[] = [];
    for (let y = 0; y < this.rows; y++) lines.push(readLine(buffer.getLine(buffer.baseY + y), cell, this.cols));
    const screen: Screen = {
      cols: this.cols,
      rows: this.rows,
      lines,
      cursorX: this.cursor.x,
      cursorY: this.cursor.y,
      alternate: this.alternate,
      bracketedPaste: this.#terminal.modes.bracketedPasteMode,
      title: this.#title,
    };
    this.#cached = { version: this.#version, screen };
    return screen;
  }

  /**
   * Text of the rows from history to the last row of the screen, oldest first; only the last `limit` rows are read.
   * Trailing blanks of a row are removed unless the next row continues from it.
   */
  rowsText(limit: number): readonly TextRow[] {
    const buffer = this.#terminal.buffer.active;
    const end = buffer.baseY + this.rows;
    const rows: TextRow[] = [];
    for (let y = Math.max(0, end - limit); y < end; y++) {
      const { text, wrapped } = rowText(buffer, y);
      rows.push({ text, wrapped });
    }
    return rows;
  }

  /** Bytes that redraw the screen, cursor and modes on a terminal of the same size, whatever it shows. */
  redraw(): string {
    if (this.#redrawn?.version !== this.#version) this.#redrawn = { version: this.#version, text: this.#draw() };
    return this.#redrawn.text;
  }

  #draw(): string {
    const { active, normal } = this.#terminal.buffer;
    const [cols, rows] = [this.cols, this.rows];
    const behind =
      active.type === "alternate"
        ? `${drawRows(normal, cols, rows)}${this.#moveTo(normal)}\x1b[0m\x1b[?1049h\x1b[H`
        : "";
    const top = this.#terminal.modes.originMode ? this.#modes.scrollTop : 0;
    const screen = drawRows(active, cols, rows);
    return `${REDRAW_RESET}${behind}${screen}${this.#modes.sequence()}${this.#moveTo(active, top)}${this.#penSequence()}`;
  }

  /** A cursor past the last column was left there by the last printed character: the next character wraps. */
  #moveTo(buffer: IBuffer, top = 0): string {
    return buffer.cursorX >= this.cols ? this.#pendingWrap(buffer, top) : moveTo(buffer, top);
  }

  /** Prints the last cell of the cursor's row again: nothing else moves a cursor past it. */
  #pendingWrap(buffer: IBuffer, top: number): string {
    const line = buffer.getLine(buffer.baseY + buffer.cursorY);
    const wide = line?.getCell(this.cols - 1)?.getWidth() === 0;
    const x = this.cols - (wide ? 2 : 1);
    const cell = line?.getCell(x);
    if (cell === undefined) return moveTo(buffer, top);
    return `\x1b[${buffer.cursorY - top + 1};${x + 1}H\x1b[${sgrOf(cell)}m${cell.getChars() || " "}`;
  }

  /** The style of the next printed character. */
  #penSequence(): string {
    const core = this.#terminal as unknown as {
      readonly _core?: { readonly _inputHandler?: { _curAttrData?: IBufferCell } };
    };
    const pen = core._core?._inputHandler?._curAttrData;
    return pen === undefined ? "\x1b[0m" : `\x1b[${sgrOf(pen)}m`;
  }
}

function moveTo({ cursorX, cursorY }: IBuffer, top = 0): string {
  return `\x1b[${cursorY - top + 1};${cursorX + 1}H`;
}

/** Bytes that are not UTF-8 become U+FFFD. */
function utf8Decoder(): TextDecoder {
  return new TextDecoder("utf-8", { ignoreBOM: true });
}
