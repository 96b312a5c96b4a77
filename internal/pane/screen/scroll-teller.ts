import type { IBuffer, IMarker } from "@xterm/headless";
import { type HistoryRow, rowText } from "./screen-lines.ts";

/** Hears what becomes final on the screen. Called between two chunks; must not throw. */
export interface ScrollListener {
  /** Rows that have left the main screen for the history, oldest first. */
  scrolled(rows: readonly HistoryRow[]): void;
  /** More rows went by at once than the history holds: some before the next ones were never told. */
  overflowed(): void;
  /** The program has thrown the history away: it may print the same rows again. */
  cleared(): void;
}

/** The part of the emulator's terminal that is needed. */
interface Scrolling {
  readonly buffer: { readonly active: IBuffer; readonly normal: IBuffer };
  registerMarker(offset: number): IMarker | undefined;
}

/** Tells each row that scrolls off the main screen once, through resizes, resets and a history that is cleared. */
export class ScrollTeller {
  readonly #terminal: Scrolling;
  readonly #scrollback: number;
  #listener: ScrollListener | undefined;
  /** Stands at the last row of the history that has been told, and moves with the text; undefined: none has been. */
  #told: IMarker | undefined;
  /** Rows below the mark that were told while it could not be moved. */
  #toldBeyond = 0;
  /** Stands at the last row that has been told where that came back to the screen. */
  #cameBack: IMarker | undefined;

  constructor(terminal: Scrolling, scrollback: number) {
    this.#terminal = terminal;
    this.#scrollback = scrollback;
  }

  /** From now on; undefined: nobody hears what scrolls. */
  listen(listener: ScrollListener | undefined): void {
    this.#listener = listener;
    if (listener !== undefined) this.begin();
  }

  /** What the history holds counts as told. */
  begin(): void {
    this.#forgetMarks();
    if (this.#listener !== undefined) this.#markHistory();
  }

  get listener(): ScrollListener | undefined {
    return this.#listener;
  }

  /** Rows at the top of the main screen that have been told: the window was smaller when they scrolled off. */
  get toldRows(): number {
    return this.#isAlternate ? 0 : Math.max(0, this.#nextToTell - this.#terminal.buffer.normal.baseY);
  }

  /** To be called when something was printed, and when the size has changed. */
  tell(): void {
    const listener = this.#listener;
    if (listener === undefined) return;
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

  /** The history is about to go: what can still be told of it is. */
  clearing(): void {
    if (this.#listener === undefined) return;
    this.tell();
    this.#forgetMarks();
    this.#listener.cleared();
  }

  /** Rows that `move` brings into the history were erased, not scrolled: they are not told. */
  erasing(move: () => void): void {
    this.tell();
    move();
    if (this.#listener !== undefined) this.#markHistory();
  }

  /** A larger window takes rows back from the history. There an erased row takes its mark with it: one stays above. */
  resized(): void {
    if (this.#listener === undefined) return;
    this.tell();
    const { baseY } = this.#terminal.buffer.normal;
    if (this.#isAlternate || this.#told === undefined || this.#told.isDisposed || this.#told.line < baseY) return;
    const cameBack = this.#told;
    this.#told = undefined;
    this.#markBoth(cameBack);
  }

  get #isAlternate(): boolean {
    return this.#terminal.buffer.active.type === "alternate";
  }

  /** The first row that has not been told; 0 too when the history has lost the last that was. */
  get #nextToTell(): number {
    if (this.#cameBack?.isDisposed === false) return this.#cameBack.line + 1;
    if (this.#told === undefined) return this.#toldBeyond;
    return this.#told.isDisposed ? 0 : this.#told.line + 1 + this.#toldBeyond;
  }

  /** All of the history counts as told. */
  #markHistory(): void {
    const { baseY, cursorY } = this.#terminal.buffer.normal;
    if (this.#isAlternate) {
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

  #forgetMarks(): void {
    this.#told = undefined;
    this.#cameBack = undefined;
    this.#toldBeyond = 0;
  }

  #markBoth(cameBack: IMarker | undefined): void {
    if (cameBack === undefined || this.#isAlternate) return;
    this.#markHistory();
    this.#cameBack = cameBack;
  }
}
