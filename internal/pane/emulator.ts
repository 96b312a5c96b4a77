import { TextDecoder } from "node:util";
import xterm, { type IBuffer, type IBufferCell, type IBufferLine, type IMarker } from "@xterm/headless";
import type { Screen, ScreenLine, ScreenRun } from "../agents/screen.ts";
import type { TextRow } from "./peek-text.ts";
import { drawRows, REDRAW_RESET, sgrOf } from "./screen-redraw.ts";
import { TerminalModes } from "./terminal-modes.ts";
import { learnTmuxHabits } from "./tmux-habits.ts";
import { TMUX_WIDTHS, TmuxWidths } from "./tmux-widths.ts";

export interface EmulatorOptions {
  readonly cols: number;
  readonly rows: number;
  /** History kept here; deeper history is tmux's. At most about 2000, each line costs 12 bytes a column. */
  readonly scrollback: number;
}

/** A row of the history. */
export interface HistoryRow extends TextRow {
  /** The row below goes on from it without a line break. */
  readonly goesOn: boolean;
}

/** Hears what becomes final on the screen. Called between two chunks; must not throw. */
export interface ScrollListener {
  /** Rows that have left the main screen for the history, oldest first. */
  scrolled(rows: readonly HistoryRow[]): void;
  /** More rows went by at once than the history holds: some before the next ones were never told. */
  overflowed(): void;
  /** The program has thrown the history away: it may print the same rows again. */
  cleared(): void;
}

/**
 * The agent's screen as a terminal would show it, fed with the bytes the agent printed. Answers to terminal queries are
 * dropped: tmux gives them.
 */
export class Emulator {
  readonly #terminal: InstanceType<typeof xterm.Terminal>;
  readonly #modes: TerminalModes;
  readonly #scrollback: number;
  #decoder = utf8Decoder();
  #title = "";
  #version = 0;
  #cached: { readonly version: number; readonly screen: Screen } | undefined;
  #redrawn: { readonly version: number; readonly text: string } | undefined;
  #listener: ScrollListener | undefined;
  /** Stands at the last row of the history that has been told, and moves with the text; undefined: none has been. */
  #told: IMarker | undefined;
  /** Rows below the mark that were told while it could not be moved. */
  #toldBeyond = 0;
  /** Stands at the last row that has been told where that came back to the screen. */
  #cameBack: IMarker | undefined;

  constructor(options: EmulatorOptions) {
    this.#terminal = new xterm.Terminal({ ...options, allowProposedApi: true, logLevel: "off" });
    this.#scrollback = options.scrollback;
    this.#terminal.unicode.register(new TmuxWidths());
    this.#terminal.unicode.activeVersion = TMUX_WIDTHS;
    learnTmuxHabits(this.#terminal);
    this.#modes = new TerminalModes(this.#terminal);
    this.#terminal.parser.registerCsiHandler({ final: "J" }, ([what]) => what === 3 && this.#clearing(false));
    this.#terminal.parser.registerEscHandler({ final: "c" }, () => this.#clearing(true));
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

  /** From now on rows that scroll off the main screen are told. One listener; give chunks of fewer lines than `scrollback`. */
  listen(listener: ScrollListener): void {
    this.#listener = listener;
    this.#markAnew();
  }

  /** Resolves when the bytes have been taken in; a chunk is never seen half done. `onTaken` runs at that very moment. */
  write(data: Uint8Array | string, onTaken?: () => void): Promise<void> {
    // The terminal's own decoder loses a character whose second byte of 0x80 begins a chunk (U+200D, …).
    const text = typeof data === "string" ? data : this.#decoder.decode(data, { stream: true });
    return new Promise((resolve) => {
      this.#terminal.write(text, () => {
        this.#version++;
        if (this.#listener !== undefined) this.#tell(this.#listener);
        onTaken?.();
        resolve();
      });
    });
  }

  /** Forgets everything and draws `text` on a terminal of that size; nobody sees it blank in between. */
  replace(text: string, cols: number, rows: number, onTaken?: () => void): Promise<void> {
    this.#decoder = utf8Decoder();
    this.resize(cols, rows);
    const listener = this.#listener;
    this.#listener = undefined; // what is drawn here has been told, or is not known to be new
    return this.write(`\x1bc\x1b]2;\x07${text}`, () => {
      this.#listener = listener;
      this.#markAnew();
      onTaken?.();
    });
  }

  /** Rows at the top of the screen that have been told: the window was smaller when they scrolled off. */
  get toldRows(): number {
    return this.alternate ? 0 : Math.max(0, this.#nextToTell - this.historyLines);
  }

  /** The first row that has not been told; 0 too when the history has lost the last that was. */
  get #nextToTell(): number {
    if (this.#cameBack?.isDisposed === false) return this.#cameBack.line + 1;
    if (this.#told === undefined) return this.#toldBeyond;
    return this.#told.isDisposed ? 0 : this.#told.line + 1 + this.#toldBeyond;
  }

  /** Tells what can still be told of rows that are about to go. Returns false: the terminal does the rest. */
  #clearing(isAll: boolean): false {
    const listener = this.#listener;
    if (listener === undefined || (this.alternate && !isAll)) return false;
    this.#tell(listener);
    this.#markAnew(0);
    listener.cleared();
    return false;
  }

  #tell(listener: ScrollListener): void {
    const { normal } = this.#terminal.buffer;
    const from = this.#nextToTell;
    // Without a mark nobody knows what a full history has dropped.
    const isLost =
      this.#told === undefined ? from < normal.baseY && normal.baseY >= this.#scrollback : this.#told.isDisposed;
    // Rows that came back from the history stay told.
    if (from >= normal.baseY && !isLost) {
      this.#markBoth(this.#cameBack);
      return;
    }
    if (isLost) listener.overflowed();
    const rows: HistoryRow[] = [];
    for (let y = from; y < normal.baseY; y++) rows.push(rowText(normal, y));
    if (rows.length > 0) listener.scrolled(rows);
    this.#markHistory();
  }

  /** All of the history counts as told. */
  #markHistory(): void {
    const { baseY, cursorY } = this.#terminal.buffer.normal;
    if (this.alternate) {
      // Marks can be set while the main screen shows only; behind the alternate one it does not scroll.
      if (this.#told?.isDisposed === true) this.#told = undefined;
      this.#toldBeyond = baseY - (this.#told === undefined ? 0 : this.#told.line + 1);
      return;
    }
    this.#told?.dispose();
    this.#cameBack = undefined;
    // Not on the screen: a row that is erased takes its mark with it.
    this.#told = baseY === 0 ? undefined : this.#terminal.registerMarker(-cursorY - 1);
    this.#toldBeyond = 0;
  }

  /** All of the history counts as told, or none of it: then `rows` is 0. */
  #markAnew(rows?: number): void {
    this.#told = undefined;
    this.#cameBack = undefined;
    this.#toldBeyond = 0;
    if (this.#listener !== undefined && rows === undefined) this.#markHistory();
  }

  /** A larger window takes rows back from the history. There an erased row takes its mark with it: one stays above. */
  #markReturned(): void {
    const { baseY } = this.#terminal.buffer.normal;
    if (this.alternate || this.#told === undefined || this.#told.isDisposed || this.#told.line < baseY) return;
    const cameBack = this.#told;
    this.#told = undefined;
    this.#markBoth(cameBack);
  }

  #markBoth(cameBack: IMarker | undefined): void {
    if (cameBack === undefined || this.alternate) return;
    this.#markHistory();
    this.#cameBack = cameBack;
  }

  /** Forgets everything, history and modes included. */
  reset(): void {
    this.#terminal.reset();
    this.#modes.reset();
    this.#decoder = utf8Decoder();
    this.#title = "";
    this.#version++;
    this.#markAnew();
  }

  resize(cols: number, rows: number): void {
    if (cols === this.cols && rows === this.rows) return;
    this.#terminal.resize(cols, rows);
    this.#modes.resized();
    this.#version++;
    if (this.#listener === undefined) return;
    this.#tell(this.#listener);
    this.#markReturned();
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
   * Text of the rows from history to the last row of the screen, oldest first; only the last `limit` rows are read. Trailing
   * blanks of a row are removed unless the next row goes on from it.
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
      active.type === "alternate" ? `${drawRows(normal, cols, rows)}${moveTo(normal)}\x1b[?1049h\x1b[H` : "";
    const top = this.#terminal.modes.originMode ? this.#modes.scrollTop : 0;
    const screen = drawRows(active, cols, rows);
    // Behind the last column it was left by what was printed last: there the next character wraps.
    const isPending = active.cursorX >= cols;
    const cursor = isPending ? this.#pendingWrap(active) : moveTo(active, top);
    return `${REDRAW_RESET}${behind}${screen}${this.#modes.sequence()}${cursor}${this.#penSequence()}`;
  }

  /** Prints the last cell of the cursor's row again: nothing else brings a cursor behind it. */
  #pendingWrap(buffer: IBuffer): string {
    const line = buffer.getLine(buffer.baseY + buffer.cursorY);
    const wide = line?.getCell(this.cols - 1)?.getWidth() === 0;
    const x = this.cols - (wide ? 2 : 1);
    const cell = line?.getCell(x);
    if (cell === undefined) return moveTo(buffer);
    return `\x1b[${buffer.cursorY + 1};${x + 1}H\x1b[${sgrOf(cell)}m${cell.getChars() || " "}`;
  }

  /** The style of what is printed next. */
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

/** Bytes that are no UTF-8 become U+FFFD. */
function utf8Decoder(): TextDecoder {
  return new TextDecoder("utf-8", { ignoreBOM: true });
}

function rowText(buffer: IBuffer, y: number): HistoryRow {
  const line = buffer.getLine(y);
  const next = buffer.getLine(y + 1);
  const continues = next?.isWrapped ?? false;
  const text = line?.translateToString(!continues) ?? "";
  const wrapped = line?.isWrapped ?? false;
  if (!continues) return { text, wrapped, goesOn: false };
  // A wide character that did not fit at the end of the row left a cell there that nobody wrote.
  const unwritten = line?.getCell(line.length - 1)?.getChars() === "" && next?.getCell(0)?.getWidth() === 2;
  const isGap = unwritten && line?.getCell(line.length - 1)?.getWidth() === 1;
  return { text: isGap ? text.slice(0, -1) : text, wrapped, goesOn: true };
}

function readLine(line: IBufferLine | undefined, cell: IBufferCell, cols: number): ScreenLine {
  if (line === undefined) return { text: "", runs: [], wrapped: false };
  const runs: ScreenRun[] = [];
  let run: { text: string; bold: boolean; dim: boolean; inverse: boolean; fg: string } | undefined;
  let attributes = -1;
  let colour = -1;
  for (let x = 0; x < cols; x++) {
    line.getCell(x, cell);
    if (cell.getWidth() === 0) continue;
    const bits = (cell.isBold() ? 1 : 0) | (cell.isDim() ? 2 : 0) | (cell.isInverse() ? 4 : 0) | cell.getFgColorMode();
    const fg = cell.getFgColor();
    if (run === undefined || bits !== attributes || fg !== colour) {
      run = {
        text: "",
        bold: (bits & 1) !== 0,
        dim: (bits & 2) !== 0,
        inverse: (bits & 4) !== 0,
        fg: colourName(cell),
      };
      runs.push(run);
      attributes = bits;
      colour = fg;
    }
    run.text += cell.getChars() || " ";
  }
  return {
    text: line.translateToString(true).trimEnd(),
    runs: withoutTrailingBlanks(runs),
    wrapped: line.isWrapped,
  };
}

function colourName(cell: IBufferCell): string {
  if (cell.isFgDefault()) return "default";
  if (cell.isFgRGB()) return `#${cell.getFgColor().toString(16).padStart(6, "0")}`;
  return String(cell.getFgColor());
}

function withoutTrailingBlanks(runs: readonly ScreenRun[]): readonly ScreenRun[] {
  const kept = [...runs];
  for (let last = kept.at(-1); last !== undefined && !last.inverse; last = kept.at(-1)) {
    const text = last.text.trimEnd();
    kept.pop();
    if (text === "") continue;
    kept.push({ ...last, text });
    break;
  }
  return kept;
}
