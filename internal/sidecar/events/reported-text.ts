/** How many letters and digits are remembered, UTF-16 units; beyond this, the older half is dropped. */
const REMEMBERED = 512 * 1024;
/** This many letters of two consecutive lines are enough to find them where they are not expected. */
const ENOUGH = 12;
/** How many letters of the second line are compared: it may now be cut at a different place. */
const FOLLOWING = 24;
/** After this many unknown lines in a row, the following lines are new. */
const PATIENCE = 100;

/**
 * The reported text, reduced to its letters and digits, so that a line is recognised when the program draws it a second
 * time with other wrapping or frames. Lines are looked up in order, and only between `redrawn` and `settled`: a line
 * that the program prints again after that is new. Pure.
 */
export class ReportedText {
  #text = "";
  /** The position at which the next line is expected; undefined: no line is expected. */
  #next: number | undefined;
  #misses = 0;

  add(line: string): void {
    const isAtEnd = this.#next === this.#text.length;
    this.#text += lettersOf(line);
    if (isAtEnd) this.#next = this.#text.length;
    if (this.#text.length > REMEMBERED) this.#forget(this.#text.length - REMEMBERED / 2);
  }

  /** Call it when the program may begin to redraw earlier content. */
  redrawn(): void {
    this.#next = 0;
    this.#misses = 0;
  }

  /** Call it when everything that the program prints from now on is new. */
  settled(): void {
    this.#next = undefined;
  }

  /**
   * True if the next drawn line was reported before. `following`: the line after it, empty if there is none yet. A line
   * without letters counts like the line before it.
   */
  isKnown(line: string, following = ""): boolean {
    if (this.#next === undefined) return false;
    const letters = lettersOf(line);
    if (letters === "") return this.#misses === 0;
    const at = this.#find(letters, lettersOf(following).slice(0, FOLLOWING), this.#next);
    if (at === undefined) {
      if (++this.#misses >= PATIENCE) this.settled();
      return false;
    }
    this.#next = at + letters.length;
    this.#misses = 0;
    return true;
  }

  /**
   * A line at the expected position needs no more evidence. Elsewhere, and after an unknown line, it is found only
   * together with the following line or, if there is none, only if it occurs once.
   */
  #find(letters: string, following: string, next: number): number | undefined {
    if (this.#misses === 0 && this.#text.startsWith(letters, next)) return next;
    const both = letters + following;
    if (both.length < ENOUGH) return undefined;
    const ahead = this.#text.indexOf(both, next);
    const behind = this.#text.lastIndexOf(both, next);
    if (ahead < 0 && behind < 0) return undefined;
    if (following === "" && this.#text.indexOf(both) !== this.#text.lastIndexOf(both)) return undefined;
    return ahead >= 0 ? ahead : behind;
  }

  #forget(length: number): void {
    this.#text = this.#text.slice(length);
    if (this.#next !== undefined) this.#next = Math.max(0, this.#next - length);
  }
}

function lettersOf(line: string): string {
  return line.replace(/[^\p{L}\p{N}]+/gu, "");
}
