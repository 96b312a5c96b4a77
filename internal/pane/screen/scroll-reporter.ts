import type { IBuffer } from "@xterm/headless";
import { findAgain } from "./line-match.ts";
import { ReportedCells } from "./reported-cells.ts";
import { rowText } from "./screen-lines.ts";
import type { Habitual } from "./tmux-inside.ts";

/** A line of the main screen: rows that the terminal wrapped are one. */
export interface MainLine {
  readonly text: string;
  /** It was reported before, and has not changed since. */
  readonly isReported: boolean;
  /** `text` is what follows a part that was reported before: the history does not hold all of the line. */
  readonly isRest: boolean;
  /** It goes on in the next one reported: its end is not there yet. */
  readonly goesOn: boolean;
  /** The cursor stands in it: it may not be whole yet. */
  readonly hasCursor: boolean;
  /** Its rows, counted from the oldest; `end` is the first one behind it. */
  readonly start: number;
  readonly end: number;
}

/** Hears what becomes final on the screen. Called between two chunks; must not throw. */
export interface ScrollListener {
  /** Lines that have left the main screen for the history whole, oldest first. */
  scrolled(lines: readonly MainLine[]): void;
  /** More rows went by at once than the history holds: some before the next ones were never reported. */
  overflowed(): void;
  /**
   * The screen is drawn again, and these lines that were not reported yet are not there any more, or stand above some
   * that are not. True: they have been reported now.
   */
  vanished(lines: readonly MainLine[]): boolean;
  /** The program erases all of the main screen now. */
  erasing(): void;
  /** The program has thrown the history away: it may print the same lines again. */
  cleared(): void;
}

type Scrolling = Habitual & { readonly buffer: { readonly active: IBuffer; readonly normal: IBuffer } };

/**
 * So many reported rows in a row, and what is above them has been reported: lines that stood reported between
 * unreported ones on one screen are fewer, however narrow it became.
 */
const LOOK_BACK = 1024;
/** Of a line with more rows than this in the history a part is reported: the history may not hold all of it. */
const LONG_ROWS = 500;
/** While the screen is not known exactly, lines are held back until this many rows wait. */
const HELD_ROWS = 300;

/**
 * Tells each line that scrolls off the main screen once, when its last row has: through resizes, resets and a history
 * that is cleared. What has been reported is marked in the cells, so the mark follows the content through reflow.
 */
export class ScrollReporter {
  readonly #buffers: Scrolling["buffer"];
  readonly #cells: ReportedCells;
  readonly #scrollback: number;
  #listener: ScrollListener | undefined;
  #isHeld = false;
  /**
   * The lines as they were before the main screen was drawn again from behind an alternate one, where tmux cuts them.
   */
  #reference: readonly MainLine[] | undefined;

  constructor(terminal: Scrolling, scrollback: number) {
    this.#buffers = terminal.buffer;
    this.#cells = new ReportedCells(terminal);
    this.#scrollback = scrollback;
  }

  get listener(): ScrollListener | undefined {
    return this.#listener;
  }

  /** From now on; what the history holds counts as reported. */
  listen(listener: ScrollListener): void {
    this.#listener = listener;
    this.begin();
  }

  /** Nothing is reported until `resume` is called. */
  pause(): { resume(): void } {
    const listener = this.#listener;
    this.#listener = undefined;
    return {
      resume: () => {
        this.#listener = listener;
      },
    };
  }

  /** What the history holds counts as reported. */
  begin(): void {
    this.#markHistory(this.#buffers.normal.baseY);
  }

  /**
   * From now on lines wait in the history for the screen to be known exactly, as far as there is room; or not any more.
   * What waits is reported by `tell`.
   */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
  }

  /** To be called when something was printed, and when the size has changed. `all`: also what is held back. */
  tell(all = false): void {
    const listener = this.#listener;
    if (listener === undefined) return;
    const { baseY } = this.#buffers.normal;
    if (this.#reference !== undefined) {
      if (!all) return;
      this.#adopt(this.#reference);
    }
    const { from, isCut } = this.#firstUntold();
    if (this.#isHeld && !all && baseY - from < HELD_ROWS) return;
    if (isCut) listener.overflowed();
    const lines = this.#linesToTell(from);
    if (lines.length === 0) return;
    this.#cells.mark(from, lines.at(-1)?.end ?? from);
    listener.scrolled(lines);
  }

  /** Lines of which a row stands on the main screen, top to bottom. */
  standing(): readonly MainLine[] {
    const { normal } = this.#buffers;
    return this.#lines(this.#startOf(normal.baseY), normal.length);
  }

  /** Lines that have left the main screen, oldest first. */
  history(): readonly MainLine[] {
    const { baseY } = this.#buffers.normal;
    return this.#lines(0, baseY).filter(({ end }) => end <= baseY);
  }

  /** These have been reported. */
  reported(lines: readonly MainLine[]): void {
    for (const { start, end } of lines) this.#cells.mark(start, end);
  }

  /** Everything held, oldest first: what `adopt` needs to know it again. */
  all(): readonly MainLine[] {
    return this.#listener === undefined ? [] : this.#lines(0, this.#buffers.normal.length);
  }

  /** The main screen has to be drawn again: until then its lines wait. */
  get isMainUnknown(): boolean {
    return this.#reference !== undefined && this.#buffers.active.type === "normal";
  }

  /**
   * The same terminal was drawn again from elsewhere, after `before`: lines that are there again keep their marks. What
   * is in the history above them was reported, or is lost.
   */
  adopt(before: readonly MainLine[]): void {
    this.#reference ??= before;
    if (this.#buffers.active.type === "normal") this.#adopt(this.#reference);
  }

  #adopt(before: readonly MainLine[]): void {
    this.#reference = undefined;
    const { baseY } = this.#buffers.normal;
    const lines = this.all();
    const { partOf, isBroken } = findAgain(before, lines);
    const reportedTo = this.#reportVanished(before, new Set(partOf));
    let known = -1;
    let first = -1;
    lines.forEach((line, i) => {
      const index = partOf[i] ?? -1;
      const old = before[index];
      if (old === undefined || line.text.trim() === "") return;
      if (first < 0) first = i;
      if (old.isRest && line.start === 0) this.#cells.continues(0);
      if (!old.isReported && index >= reportedTo) return;
      this.reported([line]);
      if (line.end <= baseY) known = i;
    });
    const above = first < 0 ? lines.length : Math.max(known + 1, first);
    const until = lines[above]?.start ?? this.#buffers.normal.length;
    this.#markHistory(Math.min(until, baseY));
    for (const i of isBroken)
      if (i >= reportedTo)
        this.#tellBroken(
          before[i],
          lines.filter((_, at) => partOf[at] === i),
        );
  }

  /**
   * Lines that are nowhere any more are reported now, with those above them, if the listener takes them: those before
   * the index returned.
   */
  #reportVanished(before: readonly MainLine[], found: ReadonlySet<number>): number {
    const vanished = before.findLastIndex(
      ({ text, isReported, hasCursor }, i) => !hasCursor && !isReported && !found.has(i) && text.trim() !== "",
    );
    if (vanished < 0) return 0;
    const lines = before.slice(0, vanished + 1).filter(({ isReported }) => !isReported);
    return this.#listener?.vanished(lines) === true ? vanished + 1 : 0;
  }

  /** Of a line that stands in two parts now the whole is reported: tmux forgets that one row goes on in the next. */
  #tellBroken(whole: MainLine | undefined, parts: readonly MainLine[]): void {
    const [head] = parts;
    if (whole === undefined || head === undefined || whole.isReported) return;
    const above = this.#lines(this.#firstUntold().from, head.start).filter(({ end }) => end <= head.start);
    this.reported([...above, ...parts]);
    this.#listener?.scrolled([...above, whole]);
  }

  /** The history is about to go: what can still be reported of it is. */
  clearing(): void {
    const listener = this.#listener;
    if (listener === undefined) return;
    this.tell(true);
    const { baseY } = this.#buffers.normal;
    const start = this.#startOf(baseY);
    // Of a line that stands half on the screen only that half will be left.
    const part = this.#line(start, baseY, true);
    if (start < baseY && !part.isReported) listener.scrolled([part]);
    listener.cleared();
  }

  /** All of it is about to be erased, and the history may be: the program begins again. */
  restarting(): void {
    this.tell(true);
    this.#listener?.erasing();
    this.#listener?.cleared();
  }

  /**
   * `move` brings rows of a screen that is erased into the history: nobody was reported of them if not by `erasing`.
   */
  erasing(move: () => void): void {
    this.tell(true);
    this.#listener?.erasing();
    move();
    this.begin();
  }

  /** Whole lines above this row count as reported. */
  #markHistory(end: number): void {
    this.#cells.mark(0, this.#startOf(end));
  }

  /** `isCut`: what came before it is not held any more. */
  #firstUntold(): { readonly from: number; readonly isCut: boolean } {
    const { baseY } = this.#buffers.normal;
    let from = baseY;
    let run = 0;
    let some = false;
    for (let y = baseY - 1; y >= 0 && run < LOOK_BACK; y--) {
      if (this.#cells.isReported(y)) {
        some = true;
        run++;
      } else {
        from = y;
        run = 0;
      }
    }
    return { from: this.#startOf(from), isCut: !some && baseY > 0 && baseY >= this.#scrollback };
  }

  #linesToTell(from: number): readonly MainLine[] {
    const { baseY } = this.#buffers.normal;
    const lines = this.#lines(from, baseY);
    const last = lines.at(-1);
    const whole = last !== undefined && last.end > baseY ? lines.slice(0, -1) : lines;
    const lastReported = whole.findLastIndex(({ isReported }) => isReported);
    // Blank rows may lose their marks: above what was reported they are not reported again.
    const seen = whole.map((line, i) => (i < lastReported && line.text === "" ? { ...line, isReported: true } : line));
    const isLong = last !== undefined && last.end > baseY && baseY - last.start > LONG_ROWS;
    return isLong ? [...seen, this.#line(last.start, baseY, true)] : seen;
  }

  /** Lines from row `from`, where one begins, up to the one that holds the last row before `to`. */
  #lines(from: number, to: number): MainLine[] {
    const { normal } = this.#buffers;
    const lines: MainLine[] = [];
    for (let y = from; y < to; ) {
      let end = y + 1;
      while (end < normal.length && normal.getLine(end)?.isWrapped === true) end++;
      lines.push(this.#line(y, end, false));
      y = end;
    }
    return lines;
  }

  #line(start: number, end: number, goesOn: boolean): MainLine {
    const { normal } = this.#buffers;
    let text = "";
    let rest = start;
    while (rest < end && this.#cells.isReported(rest)) rest++;
    const isReported = rest === end;
    const isLater = !isReported && rest > start;
    for (let y = isLater ? rest : start; y < end; y++) text += rowText(normal, y).text;
    if (isLater) text = this.#beyondReported(rest - 1) + text;
    const isRest = isLater || (!isReported && start === 0 && normal.getLine(0)?.isWrapped === true);
    const cursor = normal.baseY + normal.cursorY;
    return { text, isReported, isRest, goesOn, hasCursor: start <= cursor && cursor < end, start, end };
  }

  /** What is not marked of a row whose beginning is. */
  #beyondReported(y: number): string {
    const { normal } = this.#buffers;
    const from = this.#cells.reportedCols(y);
    const { length } = rowText(normal, y).text;
    return from >= length ? "" : (normal.getLine(y)?.translateToString(false, from) ?? "");
  }

  /** First row of the line that this row belongs to. */
  #startOf(y: number): number {
    let start = y;
    while (start > 0 && this.#buffers.normal.getLine(start)?.isWrapped === true) start--;
    return start;
  }
}
