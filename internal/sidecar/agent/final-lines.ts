import type { TextRow } from "../../pane/screen/peek-text.ts";
import type { HistoryRow } from "../../pane/screen/screen-lines.ts";

/** A line longer than this many characters is told in pieces, and is not known again when it comes a second time. */
const LINE_MAX_CHARS = 4096;
/** Told lines that are remembered, for an agent that clears its terminal and prints everything again. */
const REMEMBERED = 1000;
/** After so many lines that were not known, no more are looked for: what scrolls by is new. */
const PATIENCE = 100;
/** A line of few letters (a rule, a blank one) is known again only where it is expected, give or take these. */
const WEAK_JUMP = 3;
/** No screen has more lines. */
const STANDING_MAX = 300;
const STRONG = /[\p{L}\p{N}](?:.*?[\p{L}\p{N}]){3}/u;

/**
 * Makes lines of what becomes final on a terminal, each once and in order: rows that scrolled into the history, and the
 * screen as it stood at certain moments. A line told while it stood on the screen is not told again when it scrolls off, when
 * it still stands at the next moment, or when the agent clears its history and draws it anew; a line that changed is told
 * anew. Wrapped rows are one line. Pure.
 */
export class FinalLines {
  readonly #emit: (text: string) => void;
  /** Told lines that scrolled off, the last ones. */
  #gone: string[] = [];
  /** Hashes of told lines that have still to scroll off, or may come by again, from `#next` on in their order. */
  #told: readonly number[];
  #next = 0;
  #patience = PATIENCE;
  #alternate: readonly number[] = [];
  /** The line whose rows scroll off. */
  #line = "";
  #hasLine = false;
  /** A part of `#line` has been told. */
  #isCut = false;

  /** `emit` gets texts of whole lines, each ended by LF; one without goes on in the next. `standing`: see there. */
  constructor(emit: (text: string) => void, standing: readonly number[] = []) {
    this.#emit = emit;
    this.#told = standing;
  }

  /** Hashes of the lines on the screen that have been told: what a later process needs to know them again. */
  get standing(): readonly number[] {
    return this.#told.slice(this.#next);
  }

  /** Rows that left the main screen for the history, oldest first. */
  scrolled(rows: readonly HistoryRow[]): void {
    let out = "";
    for (const { text, goesOn } of rows) {
      this.#line += text;
      this.#hasLine = true;
      if (!goesOn) out += this.#finishLine();
      if (this.#line.length <= LINE_MAX_CHARS) continue;
      out += this.#line;
      this.#line = "";
      this.#isCut = true;
    }
    if (out !== "") this.#emit(out);
  }

  /** The screen at a moment when what stands on it is final. Of the alternate screen only what changed is told. */
  stood(rows: readonly TextRow[], isAlternate: boolean): void {
    if (!isAlternate && rows[0]?.wrapped === false) this.interrupted();
    const lines = this.#linesOf(rows, isAlternate);
    const hashes = lines.map(hashOf);
    const before = isAlternate ? this.#alternate : this.standing;
    const known = commonIndexes(before, hashes);
    const fresh = lines.filter((line, i) => !known.has(i) && !(isAlternate && line === ""));
    if (isAlternate) this.#alternate = hashes;
    else this.#expect(hashes);
    this.#patience = PATIENCE;
    if (fresh.length > 0) this.#emit(fresh.map((line) => `${line}\n`).join(""));
  }

  /** The line whose beginning scrolled off does not go on: it is whole as it is. */
  interrupted(): void {
    const text = this.#hasLine ? this.#finishLine() : "";
    if (text !== "") this.#emit(text);
  }

  /** The history is gone; the agent may print all of it again. */
  cleared(): void {
    // A line that stood half on the screen is not whole, and gone.
    if (this.#isCut) this.interrupted();
    this.#line = "";
    this.#hasLine = false;
    this.#expect([...this.#gone.map(hashOf), ...this.standing]);
    this.#gone = [];
  }

  #expect(told: readonly number[]): void {
    this.#told = told;
    this.#next = 0;
  }

  #finishLine(): string {
    const line = this.#line.trimEnd();
    const isCut = this.#isCut;
    this.#line = "";
    this.#hasLine = false;
    this.#isCut = false;
    return isCut || !this.#isKnown(line) ? `${line}\n` : "";
  }

  /** The line scrolls off: is it one that was told already? If not, it counts as told from now on. */
  #isKnown(line: string): boolean {
    const isKnown = this.#patience > 0 && this.#next < this.#told.length && this.#isExpected(line);
    this.#gone.push(line);
    if (this.#gone.length > 2 * REMEMBERED) this.#gone = this.#gone.slice(-REMEMBERED);
    return isKnown;
  }

  #isExpected(line: string): boolean {
    const found = this.#told.indexOf(hashOf(line), this.#next);
    if (found >= 0 && (found - this.#next <= WEAK_JUMP || STRONG.test(line))) {
      this.#next = found + 1;
      this.#patience = Math.min(PATIENCE, this.#patience + 1);
      return true;
    }
    // What stood at the end of the screen may stand there again; the rest is gone for good.
    if (--this.#patience === 0) this.#expect(this.standing.slice(-STANDING_MAX));
    return false;
  }

  #linesOf(rows: readonly TextRow[], isAlternate: boolean): readonly string[] {
    const lines: string[] = [];
    let goesOn = !isAlternate && this.#hasLine;
    for (const { text, wrapped } of rows) {
      goesOn &&= wrapped;
      if (wrapped && lines.length > 0) lines[lines.length - 1] += text;
      // Of a line whose beginning scrolled off and was told, the rest is told when it has scrolled off too.
      else if (!goesOn || !this.#isCut) lines.push(goesOn ? this.#line + text : text);
    }
    const trimmed = lines.map((line) => line.trimEnd());
    while (trimmed.at(-1) === "") trimmed.pop();
    return trimmed;
  }
}

/** 52 bits, of which a chance hit is one in 10^12 for a thousand lines: a number in JSON. */
function hashOf(line: string): number {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let i = 0; i < line.length; i++) {
    const code = line.charCodeAt(i);
    high = Math.imul(high ^ code, 2_654_435_761);
    low = Math.imul(low ^ code, 1_597_334_677);
  }
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  return 4_294_967_296 * (0xfffff & low) + (high >>> 0);
}

/** Positions in `after` of a longest common subsequence with `before`. */
function commonIndexes(before: readonly number[], after: readonly number[]): ReadonlySet<number> {
  const width = after.length + 1;
  const lengths = new Uint16Array((before.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      lengths[i * width + j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const found = new Set<number>();
  for (let i = 0, j = 0; i < before.length && j < after.length; ) {
    if (before[i] === after[j]) {
      found.add(j++);
      i++;
    } else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return found;
}
