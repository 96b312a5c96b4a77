import type { IBuffer } from "@xterm/headless";
import { HiddenLines } from "./hidden-lines.ts";
import { findAgain } from "./line-match.ts";
import { type MainLine, MainLines } from "./main-lines.ts";
import { ReportedCells } from "./reported-cells.ts";
import type { Habitual } from "./tmux-inside.ts";

/** Listens to lines that become final on the screen. Called between two chunks; must not throw. */
export interface ScrollListener {
  /** Whole lines that have left the main screen for the history, oldest first. */
  scrolled(lines: readonly MainLine[]): void;
  /** More rows went by at once than the history holds: some rows before the next reported ones were never reported. */
  overflowed(): void;
  /**
   * The screen was drawn again, and these unreported lines are gone, or are above lines that are. Returns true if the
   * listener has reported them.
   */
  vanished(lines: readonly MainLine[]): boolean;
  /** The program is erasing all of the main screen. */
  erasing(): void;
  /** The program has thrown the history away: it may print the same lines again. */
  cleared(): void;
}

type Scrolling = Habitual & { readonly buffer: { readonly active: IBuffer; readonly normal: IBuffer } };

/**
 * After this many reported rows in a row, all rows above have been reported: reported lines between unreported ones on
 * one screen are fewer, however narrow it became.
 */
const LOOK_BACK = 1024;
/** A line with more rows than this in the history is reported in parts: the history may not hold all of it. */
const LONG_ROWS = 500;
/** While the screen is not known exactly, lines are held back until this many rows wait. */
const HELD_ROWS = 300;

/**
 * Reports each line that scrolls off the main screen exactly once, when its last row has scrolled off, even through
 * resizes, resets and a history that is cleared. Reported cells are marked, so the mark follows the content through
 * reflow.
 */
export class ScrollReporter {
  readonly #buffers: Scrolling["buffer"];
  readonly #cells: ReportedCells;
  readonly #lines: MainLines;
  readonly #scrollback: number;
  #listener: ScrollListener | undefined;
  #isHeld = false;
  /** Defined while the main screen is not known exactly. */
  #hidden: HiddenLines | undefined;

  constructor(terminal: Scrolling, scrollback: number) {
    this.#buffers = terminal.buffer;
    this.#cells = new ReportedCells(terminal);
    this.#lines = new MainLines(terminal.buffer, this.#cells);
    this.#scrollback = scrollback;
  }

  get listener(): ScrollListener | undefined {
    return this.#listener;
  }

  /** Listens from now on; the history's content counts as reported. */
  listen(listener: ScrollListener): void {
    this.#listener = listener;
    this.begin();
  }

  /** Reports nothing until `resume` is called. */
  pause(): { resume(): void } {
    const listener = this.#listener;
    this.#listener = undefined;
    return {
      resume: () => {
        this.#listener = listener;
      },
    };
  }

  /** Marks the history's content as reported. */
  begin(): void {
    this.#markHistory(this.#buffers.normal.baseY);
  }

  /**
   * With `isHeld`, lines wait in the history until the screen is known exactly, as long as there is room. `tell`
   * reports the waiting lines.
   */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
  }

  /** Call it after output, and after a change of the size. `all`: also reports lines that are held back. */
  tell(all = false): void {
    const listener = this.#listener;
    if (listener === undefined) return;
    const { baseY } = this.#buffers.normal;
    const { from, isCut } = this.#firstUntold();
    if (this.#hidden?.isReported === false) {
      if (!all && baseY - from < HELD_ROWS) return;
      this.#reportHidden(listener);
    }
    if (this.#isHeld && !all && baseY - from < HELD_ROWS) return;
    if (isCut) listener.overflowed();
    const lines = this.#linesToTell(from);
    if (lines.length === 0) return;
    this.#cells.mark(from, lines.at(-1)?.end ?? from);
    this.#hidden?.printed(lines);
    listener.scrolled(lines);
  }

  /** Lines of which a row is on the main screen, top to bottom. */
  standing(): readonly MainLine[] {
    const { normal } = this.#buffers;
    return this.#lines.from(this.#lines.startOf(normal.baseY), normal.length);
  }

  /** Reported lines on the screen and up to `rows` rows above it, even where the screen is not known exactly. */
  reportedEnd(rows: number): readonly MainLine[] {
    const { normal } = this.#buffers;
    const from = this.#lines.startOf(Math.max(0, normal.baseY - rows));
    const lines = this.#hidden === undefined ? this.#lines.from(from, normal.length) : this.all();
    return lines.filter(({ isReported }) => isReported);
  }

  /** Lines that have left the main screen, oldest first. */
  history(): readonly MainLine[] {
    const { baseY } = this.#buffers.normal;
    return this.#lines.from(0, baseY).filter(({ end }) => end <= baseY);
  }

  /** Marks these lines as reported. */
  reported(lines: readonly MainLine[]): void {
    this.#hidden?.printed(lines.filter(({ isReported }) => !isReported));
    for (const { start, end } of lines) this.#cells.mark(start, end);
  }

  /** All lines held, oldest first, by which `adopt` recognises them. */
  all(): readonly MainLine[] {
    if (this.#listener === undefined) return [];
    const lines = this.#lines.from(0, this.#buffers.normal.length);
    return this.#hidden === undefined ? lines : this.#hidden.with(lines);
  }

  /** True if the main screen has to be drawn again: until then its lines wait. */
  get isMainUnknown(): boolean {
    return this.#hidden !== undefined && this.#buffers.active.type === "normal";
  }

  /**
   * Call it after the same terminal was drawn again from another source; `before`: its earlier lines. Lines that are
   * there again keep their marks. Lines in the history above them were reported, or are lost.
   */
  adopt(before: readonly MainLine[]): void {
    const { active, normal } = this.#buffers;
    this.#hidden = undefined;
    if (active.type === "normal") {
      this.#adopt(before);
    } else {
      this.#hidden = new HiddenLines(before);
      this.#cells.mark(0, normal.length);
    }
  }

  /** Reports the known part of the screen: it is needed, or there is no more room to wait. */
  #reportHidden(listener: ScrollListener): void {
    const known = this.all();
    const due = known
      .filter(({ isReported, hasCursor, text }) => !isReported && !(hasCursor && text === ""))
      .map((line) => ({ ...line, hasMore: line.hasCursor }));
    this.#hidden = new HiddenLines(
      known.map((line) => ({ ...line, isReported: true })),
      true,
    );
    this.#cells.mark(0, this.#buffers.normal.length);
    if (due.length > 0 && !listener.vanished(due)) listener.scrolled(due.filter(({ isStanding }) => !isStanding));
  }

  #adopt(before: readonly MainLine[]): void {
    const { baseY } = this.#buffers.normal;
    const lines = this.#lines.from(0, this.#buffers.normal.length);
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
   * Reports lines that are gone, with the lines above them. Returns the index after the last reported line; 0 if the
   * listener does not take them.
   */
  #reportVanished(before: readonly MainLine[], found: ReadonlySet<number>): number {
    const vanished = before.findLastIndex(
      ({ text, isReported, hasCursor }, i) => !hasCursor && !isReported && !found.has(i) && text.trim() !== "",
    );
    if (vanished < 0) return 0;
    const lines = before.slice(0, vanished + 1).filter(({ isReported }) => !isReported);
    return this.#listener?.vanished(lines) === true ? vanished + 1 : 0;
  }

  /** Reports the whole of a line that is in two parts now: tmux forgets that one row continues in the next. */
  #tellBroken(whole: MainLine | undefined, parts: readonly MainLine[]): void {
    const [head] = parts;
    if (whole === undefined || head === undefined || whole.isReported) return;
    const above = this.#lines.from(this.#firstUntold().from, head.start).filter(({ end }) => end <= head.start);
    this.reported([...above, ...parts]);
    this.#listener?.scrolled([...above, whole]);
  }

  /** Reports the rest of the history, which is about to be cleared. */
  clearing(): void {
    const listener = this.#listener;
    if (listener === undefined) return;
    this.tell(true);
    const { baseY } = this.#buffers.normal;
    const start = this.#lines.startOf(baseY);
    // If a line is partly on the screen, its part in the history would be lost.
    const part = this.#lines.line(start, baseY, true);
    if (start < baseY && !part.isReported) listener.scrolled([part]);
    listener.cleared();
  }

  /** Call it when everything is about to be erased, perhaps the history too: the program begins again. */
  restarting(): void {
    this.tell(true);
    this.#listener?.erasing();
    this.#listener?.cleared();
  }

  /**
   * Call it when the screen is erased. `move` brings its rows into the history: the listener learns of them only by
   * `erasing`.
   */
  erasing(move: () => void): void {
    this.tell(true);
    this.#listener?.erasing();
    move();
    this.begin();
  }

  /** Marks the whole lines above this row as reported. */
  #markHistory(end: number): void {
    this.#cells.mark(0, this.#lines.startOf(end));
  }

  /** The first row that has not been reported. `isCut`: the text before that row is no longer held. */
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
    return { from: this.#lines.startOf(from), isCut: !some && baseY > 0 && baseY >= this.#scrollback };
  }

  #linesToTell(from: number): readonly MainLine[] {
    const { baseY } = this.#buffers.normal;
    const lines = this.#lines.from(from, baseY);
    const last = lines.at(-1);
    const whole = last !== undefined && last.end > baseY ? lines.slice(0, -1) : lines;
    const lastReported = whole.findLastIndex(({ isReported }) => isReported);
    // Blank rows may lose their marks: above reported rows they are not reported again.
    const seen = whole.map((line, i) => (i < lastReported && line.text === "" ? { ...line, isReported: true } : line));
    const isLong = last !== undefined && last.end > baseY && baseY - last.start > LONG_ROWS;
    return isLong ? [...seen, this.#lines.line(last.start, baseY, true)] : seen;
  }
}
