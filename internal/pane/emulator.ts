import { TextDecoder } from "node:util";
import { SerializeAddon } from "@xterm/addon-serialize";
import xterm, { type IBuffer, type IBufferCell, type IBufferLine, type IMarker } from "@xterm/headless";
import type { Screen, ScreenLine, ScreenRun } from "../agents/screen.ts";
import type { TextRow } from "./peek-text.ts";
import { TerminalModes } from "./terminal-modes.ts";
import { TMUX_WIDTHS, TmuxWidths } from "./tmux-widths.ts";

export interface EmulatorOptions {
  readonly cols: number;
  readonly rows: number;
  /** History kept here; deeper history is tmux's. At most about 2000, each line costs 12 bytes a column. */
  readonly scrollback: number;
}

/** Hears what becomes final on the screen. Called between two chunks; must not throw. */
export interface ScrollListener {
  /** Rows that have left the main screen for the history, oldest first. */
  scrolled(rows: readonly TextRow[]): void;
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
  readonly #serializer = new SerializeAddon();
  readonly #modes: TerminalModes;
  #decoder = utf8Decoder();
  #title = "";
  #version = 0;
  #cached: { readonly version: number; readonly screen: Screen } | undefined;
  #listener: ScrollListener | undefined;
  /** Stands at the first row that is not history; moves with the text. */
  #told: IMarker | undefined;
  /** Rows below the mark that were told while it could not be moved. */
  #toldBeyond = 0;
  /** The mark went with the whole screen: all there is now is new. */
  #isFresh = false;

  constructor(options: EmulatorOptions) {
    this.#terminal = new xterm.Terminal({ ...options, allowProposedApi: true, logLevel: "off" });
    this.#terminal.unicode.register(new TmuxWidths());
    this.#terminal.unicode.activeVersion = TMUX_WIDTHS;
    this.#terminal.loadAddon(this.#serializer);
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
    this.#mark();
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
    const { buffer } = this.#terminal;
    const told = this.#told;
    if (this.alternate || told === undefined || told.isDisposed) return 0;
    return Math.max(0, told.line + this.#toldBeyond - buffer.normal.baseY);
  }

  /** Tells what can still be told of rows that are about to go. Returns false: the terminal does the rest. */
  #clearing(isAll: boolean): false {
    const listener = this.#listener;
    if (listener === undefined || (this.alternate && !isAll)) return false;
    this.#tell(listener);
    this.#mark();
    listener.cleared();
    this.#isFresh ||= isAll;
    return false;
  }

  #tell(listener: ScrollListener): void {
    const { normal } = this.#terminal.buffer;
    const told = this.#told;
    const isGone = told?.isDisposed !== false || this.#isFresh;
    const from = isGone ? 0 : told.line + this.#toldBeyond;
    // Rows that came back from the history stay told.
    if (from > normal.baseY || (from === normal.baseY && !isGone)) return;
    if (told?.isDisposed === true && !this.#isFresh) listener.overflowed();
    this.#isFresh = false;
    const rows: TextRow[] = [];
    for (let y = from; y < normal.baseY; y++) rows.push(rowText(normal, y));
    if (rows.length > 0) listener.scrolled(rows);
    this.#toldBeyond = isGone ? 0 : normal.baseY - told.line;
    this.#mark();
  }

  #markAnew(): void {
    this.#told = undefined;
    this.#isFresh = false;
    if (this.#listener !== undefined) this.#mark();
  }

  /** Markers can be set while the main screen shows only; behind the alternate one it does not move. */
  #mark(): void {
    if (this.alternate) return;
    this.#told?.dispose();
    this.#told = this.#terminal.registerMarker(-this.#terminal.buffer.normal.cursorY);
    this.#toldBeyond = 0;
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
    if (this.#listener !== undefined) this.#tell(this.#listener);
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
  rowsText(limit: number): readonly { readonly text: string; readonly wrapped: boolean }[] {
    const buffer = this.#terminal.buffer.active;
    const end = buffer.baseY + this.rows;
    const rows = [];
    for (let y = Math.max(0, end - limit); y < end; y++) rows.push(rowText(buffer, y));
    return rows;
  }

  /** Bytes that redraw the screen, cursor and modes on a fresh terminal of the same size. */
  redraw(): string {
    return this.#serializer.serialize({ scrollback: 0 }) + this.#modes.sequence();
  }
}

/** Bytes that are no UTF-8 become U+FFFD. */
function utf8Decoder(): TextDecoder {
  return new TextDecoder("utf-8", { ignoreBOM: true });
}

function rowText(buffer: IBuffer, y: number) {
  const line = buffer.getLine(y);
  const next = buffer.getLine(y + 1);
  const continues = next?.isWrapped ?? false;
  const text = line?.translateToString(!continues) ?? "";
  const wrapped = line?.isWrapped ?? false;
  if (!continues) return { text, wrapped };
  // A wide character that did not fit at the end of the row left a cell there that nobody wrote.
  const unwritten = line?.getCell(line.length - 1)?.getChars() === "" && next?.getCell(0)?.getWidth() === 2;
  const isGap = unwritten && line?.getCell(line.length - 1)?.getWidth() === 1;
  return { text: isGap ? text.slice(0, -1) : text, wrapped };
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
