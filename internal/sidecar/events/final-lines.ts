import { matchLines } from "../../pane/screen/line-match.ts";
import type { MainLine } from "../../pane/screen/main-lines.ts";
import { ReportedText } from "./reported-text.ts";

/**
 * The number of reported lines that are remembered, for an agent that clears its terminal and prints everything again.
 */
const REMEMBERED = 1000;
/** After this many unknown lines, no more are looked up: the following ones are new. */
const PATIENCE = 100;
/** A line of few letters (a rule, a blank one) is recognised only within this distance of its expected place. */
const WEAK_JUMP = 3;
/** The most lines that a screen has. */
export const STANDING_MAX = 300;
const STRONG = /[\p{L}\p{N}](?:.*?[\p{L}\p{N}]){3}/u;

/** A line of the main screen, see `MainLine`. */
export type FinalLine = Pick<MainLine, "text" | "isReported" | "isRest" | "hasMore">;

export interface FinalLinesOptions {
  /** The lines that an earlier process reported last, and the number of them above the screen; see `StandingLines`. */
  readonly standing?: readonly number[];
  readonly above?: number;
  readonly isOpen?: boolean;
  /** The program draws its screen itself, and redraws the lines above it when the window changes. */
  readonly redraws?: boolean;
}

/**
 * Turns the lines that become final on a terminal into text, each once and in order: those that scrolled into the
 * history, and the screen at certain moments. The terminal marks reported lines that it still shows unchanged. Nor is a
 * line reported again if the agent draws the same lines a second time, a moment later or after it cleared its history.
 * Pure.
 */
export class FinalLines {
  readonly #emit: (text: string) => void;
  /** Hashes of the lines reported last, in the order of the reports. */
  #history: number[];
  /** Hashes of reported lines. Those from `#next` on have yet to scroll off, or may come again, in this order. */
  #told: readonly number[];
  #next = 0;
  #patience = PATIENCE;
  #alternate: readonly number[] = [];
  #isOpen: boolean;
  readonly #text: ReportedText | undefined;

  /** `emit` gets the text of whole lines, each ended by LF; a text without LF at its end continues in the next text. */
  constructor(
    emit: (text: string) => void,
    { standing = [], above = 0, isOpen = false, redraws = false }: FinalLinesOptions = {},
  ) {
    this.#emit = emit;
    this.#isOpen = isOpen;
    this.#text = redraws ? new ReportedText() : undefined;
    this.#told = standing;
    this.#next = Math.min(above, standing.length);
    this.#history = [...standing];
  }

  /** Hashes of the lines that were on the screen when it was last reported and have not scrolled off since. */
  get standing(): readonly number[] {
    return this.#told.slice(this.#next);
  }

  /** The same with the lines above the screen, and the number of the latter. */
  get remembered(): { readonly lines: readonly number[]; readonly above: number } {
    return { lines: this.#told, above: this.#next };
  }

  /** True if the last reported text continues in the next one. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Takes the screen as this process finds it: lines that an earlier process saw scroll off may have come back. */
  found(lines: readonly Pick<FinalLine, "text">[]): void {
    const shown = lines.map(({ text }) => text.trimEnd()).filter((line) => STRONG.test(line));
    const first = matchLines(this.#told, shown.map(hashOf)).find((index) => index >= 0);
    if (first !== undefined) this.#next = Math.min(this.#next, first);
  }

  /** Reports lines that left the main screen for the history, oldest first. */
  scrolled(lines: readonly FinalLine[]): void {
    let out = "";
    for (const [i, { text, isReported, isRest, hasMore }] of lines.entries()) {
      if (isRest || hasMore) {
        out += this.#part(text, { isRest, hasMore });
        continue;
      }
      const line = text.trimEnd();
      const isKnown = this.#isKnown(line, lines[i + 1]);
      if (!isReported && !isKnown && !this.#isDrawnAgain(line, lines[i + 1])) out += this.#whole(line);
    }
    if (out !== "") this.#emit(out);
  }

  /**
   * Reports the main screen at a moment when its content is final; of a line that may continue, the part that is there.
   */
  stood(lines: readonly FinalLine[]): void {
    const shown = lines.map(({ text }) => text.trimEnd());
    while (shown.at(-1) === "") shown.pop();
    const hashes = shown.map(hashOf);
    const isKnown = knownLines(this.standing, hashes);
    let out = "";
    shown.forEach((line, i) => {
      const { text = line, isReported = false, isRest = false, hasMore = false } = lines[i] ?? {};
      const isNew = !isReported && isKnown[i] !== true && !this.#isDrawnAgain(line, lines[i + 1]);
      if (isRest || (hasMore && isNew)) out += this.#part(text, { isRest, hasMore });
      else if (isNew) out += this.#whole(line);
    });
    this.#expect(hashes);
    this.#patience = PATIENCE;
    if (out !== "") this.#emit(out);
  }

  /** Reports the alternate screen in the same way, but only the lines that are new since the last report. */
  stoodAlternate(texts: readonly string[]): void {
    const lines = texts.map((text) => text.trimEnd()).filter((line) => line !== "");
    const hashes = lines.map(hashOf);
    const matches = matchLines(this.#alternate, hashes);
    this.#alternate = hashes;
    const fresh = lines.filter((_, i) => matches[i] === -1);
    if (fresh.length > 0) this.#emit(this.#ended() + fresh.map((line) => `${line}\n`).join(""));
  }

  /** Call it when a partly reported line will not continue. */
  interrupted(): void {
    const end = this.#ended();
    if (end !== "") this.#emit(end);
  }

  /** Call it when the history has been cleared; the agent may print all of it again. */
  cleared(): void {
    this.#expect(this.#history.slice(-REMEMBERED));
    this.#patience = PATIENCE;
  }

  /**
   * Call it when an agent that draws its screen itself may begin to redraw its earlier output, wrapped in another way.
   */
  redrawn(): void {
    this.#text?.redrawn();
  }

  /** Call it when the agent has redrawn its earlier output: text printed from now on is new. */
  settled(): void {
    this.#text?.settled();
  }

  #expect(told: readonly number[]): void {
    this.#told = told;
    this.#next = 0;
  }

  #whole(line: string): string {
    this.#text?.add(line);
    this.#history.push(hashOf(line));
    if (this.#history.length > 2 * REMEMBERED) this.#history = this.#history.slice(-REMEMBERED);
    return `${this.#ended()}${line}\n`;
  }

  /**
   * Reports a piece of a line whose other part is not there yet or is in the history. The piece is not recognised
   * later.
   */
  #part(text: string, { isRest, hasMore }: Pick<FinalLine, "isRest" | "hasMore">): string {
    this.#text?.add(text);
    const before = isRest ? "" : this.#ended();
    this.#isOpen = hasMore;
    return before + (hasMore ? text : `${text.trimEnd()}\n`);
  }

  /** Ends the open line. */
  #ended(): string {
    const end = this.#isOpen ? "\n" : "";
    this.#isOpen = false;
    return end;
  }

  #isDrawnAgain(line: string, following: FinalLine | undefined): boolean {
    return this.#text?.isKnown(line, following?.text) === true;
  }

  /** True if the line that scrolls off was already reported. */
  #isKnown(line: string, following: FinalLine | undefined): boolean {
    return this.#patience > 0 && this.#next < this.#told.length && this.#isExpected(line, following);
  }

  /**
   * True if the line is expected next or soon after. Further on it counts only if it has enough letters and the next
   * line follows it there too, as far as is known.
   */
  #isExpected(line: string, following: FinalLine | undefined): boolean {
    const found = this.#told.indexOf(hashOf(line), this.#next);
    const behind = this.#told[found + 1];
    const isFollowed = following === undefined || behind === undefined || behind === hashOf(following.text.trimEnd());
    if (found >= 0 && (found - this.#next <= WEAK_JUMP || (STRONG.test(line) && isFollowed))) {
      this.#next = found + 1;
      this.#patience = Math.min(PATIENCE, this.#patience + 1);
      return true;
    }
    // The lines at the end of the screen may come again; the rest never returns.
    if (--this.#patience === 0) this.#expect(this.standing.slice(-STANDING_MAX));
    return false;
  }
}

/**
 * Which lines of a screen, given as hashes, were reported before. Blank lines are not compared, since so many of them
 * would outweigh the text between them: a blank line is new if the line before it is.
 */
function knownLines(told: readonly number[], shown: readonly number[]): readonly boolean[] {
  const places = shown.flatMap((hash, i) => (hash === BLANK ? [] : [i]));
  const matches = matchLines(
    told.filter((hash) => hash !== BLANK),
    places.map((i) => shown[i]),
  );
  const known = new Array<boolean>(shown.length).fill(told.length > 0);
  places.forEach((place, k) => {
    const isMatched = matches[k] !== -1;
    known.fill(isMatched, place, places[k + 1] ?? shown.length);
  });
  return known;
}

/** Hashes of reported lines, by which a later process recognises them. */
export function hashesOf(lines: readonly { readonly text: string }[]): readonly number[] {
  return lines.map(({ text }) => hashOf(text.trimEnd()));
}

/** 52 bits, which fit a number in JSON; the chance of a false match among a thousand lines is one in 10^12. */
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

const BLANK = hashOf("");
