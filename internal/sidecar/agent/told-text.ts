/** Letters and digits that are remembered, UTF-16 units; the older half goes when there are more. */
const REMEMBERED = 512 * 1024;
/** So many letters of two lines, one behind the other, are enough to find them where they are not expected. */
const ENOUGH = 12;
/** Of the second one so many are compared: it may be cut elsewhere now. */
const FOLLOWING = 24;
/** After so many lines in a row that were not known, what comes is new. */
const PATIENCE = 100;

/**
 * What was told, as letters and digits without anything between them: so a line is known again that the program draws a
 * second time, however it wraps and frames it now. Looks for lines between `redrawn` and `settled` only, and in their
 * order: one that the program prints a second time behind all that was told is new. Pure.
 */
export class ToldText {
  #text = "";
  /** Where the next line is expected; undefined: no line is. */
  #next: number | undefined;
  #misses = 0;

  add(line: string): void {
    const isAtEnd = this.#next === this.#text.length;
    this.#text += lettersOf(line);
    if (isAtEnd) this.#next = this.#text.length;
    if (this.#text.length > REMEMBERED) this.#forget(this.#text.length - REMEMBERED / 2);
  }

  /** From now on the program may draw again what it has drawn before. */
  redrawn(): void {
    this.#next = 0;
    this.#misses = 0;
  }

  /** What it prints from now on is new. */
  settled(): void {
    this.#next = undefined;
  }

  /**
   * The next line that is drawn: was it told before? `following`: the one behind it, as far as it is there. One without
   * letters is what the one before it was.
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

  /** Behind one that was not known nothing is expected: there a line alone counts only if there is no other like it. */
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
