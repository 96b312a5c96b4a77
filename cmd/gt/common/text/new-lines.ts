import { plainText } from "../../../../internal/base/sanitise.ts";
import { commonLines } from "./common-lines.ts";

interface Line {
  readonly text: string;
  /** The text without styling, by which the line is recognised. */
  readonly key: string;
  /** The time when it appeared, monotonic ms. */
  readonly since: number;
  printed: boolean;
}

export interface NewLinesResult {
  readonly lines: readonly string[];
  /** The agent printed more than the window holds: lines in between are lost. */
  readonly skipped: boolean;
}

/**
 * Turns snapshots of a terminal's last lines into a stream of new lines. Returns each line once: when it has scrolled
 * into history, or has been unchanged for `settleMs`. So spinners, clocks and half-drawn frames are left out, and an
 * input box that is redrawn below the text is not repeated.
 */
export class NewLines {
  readonly #settleMs: number;
  #lines: Line[] = [];
  #rows = 0;
  #began = false;

  constructor(settleMs: number) {
    this.#settleMs = settleMs;
  }

  /** Begins with this snapshot: returns its last `count` lines, and counts all its lines as returned. */
  begin(picture: readonly string[], rows: number, count: number, now: number): readonly string[] {
    this.#lines = picture.map((text) => ({ text, key: plainText(text).trimEnd(), since: now, printed: true }));
    this.#rows = rows;
    this.#began = true;
    return picture.slice(-count);
  }

  /** Takes a new snapshot: the last lines, of which at most the last `rows` are on the screen. */
  push(picture: readonly string[], rows: number, now: number): NewLinesResult {
    const before = this.#lines;
    const keys = picture.map((text) => plainText(text).trimEnd());
    const known = new Map(
      commonLines(
        before.map((line) => line.key),
        keys,
      ).map(([old, fresh]) => [fresh, before[old]]),
    );
    this.#lines = picture.map((text, i) => {
      const old = known.get(i);
      return { text, key: keys[i] ?? "", since: old?.since ?? now, printed: old?.printed ?? false };
    });
    this.#rows = rows;
    const lost = this.#began && before.length > rows && ![...known.keys()].some((i) => keys[i] !== "");
    this.#began = true;
    return { lines: this.settled(now), skipped: lost };
  }

  /** Returns the lines that have settled since the last call. Without a new snapshot, call again after `settleMs`. */
  settled(now: number): readonly string[] {
    const screenFrom = this.#lines.length - this.#rows;
    const ready = this.#lines.filter(
      (line, i) => !line.printed && (i < screenFrom || now - line.since >= this.#settleMs),
    );
    for (const line of ready) line.printed = true;
    return ready.map((line) => line.text);
  }

  /** True if some lines on the screen have not settled yet. */
  get pending(): boolean {
    return this.#lines.some((line) => !line.printed);
  }
}
