import type { ComposerView, ScreenView } from "../../agents/profile.ts";
import type { Screen } from "../../agents/screen.ts";
import { DrawnLetters, lettersOf } from "./drawn-letters.ts";

/** The visibility of our text in front of the agent. */
export type Presence =
  | "absent" // nothing of it is there (yet, or any more)
  | "partial" // a part of it: still being drawn
  | "there" // whole, as far as the screen can show it, and nothing else
  | "worn" // whole but for letters that the terminal may have lost (`DrawnLetters`) or that are still being drawn
  | "mixed" // there with something that is not ours
  | "hidden"; // no place to look at: a dialog or an unknown screen covers the composer

/** Looks for one delivery's text on screens; created before the text is typed. */
export interface Probe {
  look(screen: Screen, view: ScreenView): Presence;
}

/** How many letters and digits identify a text that is scrolled or looked for elsewhere. */
const TAIL_LENGTH = 14;
/** A composer that holds this much of our text, in its place, holds our text with a person's changes. */
const EDITED_SHARE = 0.75;
/** How many characters of a text's end are searched for where the agent repeats the text: at most, and at least. */
const ENDING_LENGTH = 20;
const ENDING_LEAST = 6;
/**
 * A row on which an agent repeats a message from its beginning. A text of fewer than ENDING_LEAST characters is looked
 * for only there.
 */
const REPEATED_ROW = /^\s*[›❯>]\s(.*)$/u;
/** A paste that the agent shows folded, such as `[Pasted text #1 +4 lines]` or `[Pasted Content 5000 chars]`. */
const PASTE_MARKER = /\[Pasted[^\]\n]*\]/g;

/** Skin tones, variation selectors, and characters joined to an emoji: terminals drop them. */
const EMOJI_PARTS = /\p{Emoji_Modifier}|[\ufe0e\ufe0f\u20e3]|\u200d[\s\S]?/gu;

/** The part of a text that is compared: letters and digits or, for texts without any, all characters but blanks. */
function signature(text: string, like: string): string {
  if (lettersOf(like) !== "") return lettersOf(text);
  const shown = text.normalize("NFC").replace(/\s/g, "");
  return shown.replace(EMOJI_PARTS, "") || shown;
}

/** Rows that show a text's end, with nothing or with more right after it. */
interface Repeats {
  readonly alone: number;
  readonly more: number;
}

/**
 * For agents whose composer is known. The composer was empty before, so whatever is in it came from us or from a person
 * who began to type meanwhile.
 */
export class ComposerProbe implements Probe {
  readonly #message: string;
  readonly #wanted: string;
  readonly #letters: DrawnLetters;
  readonly #residue: string;
  readonly #ending: string;
  /** How many blanks the text ends with. */
  readonly #blanks: number;
  readonly #before: Repeats;

  /** `before`: the screen before the text was typed; `residue`: its residue in the composer, which was empty. */
  constructor(message: string, before?: Screen, residue = "") {
    this.#message = message;
    this.#residue = signature(residue, message);
    this.#wanted = signature(message, message);
    this.#letters = new DrawnLetters(message);
    this.#ending = (message.trimEnd().split("\n").at(-1) ?? "").slice(-ENDING_LENGTH).trimStart();
    this.#blanks = message.length - message.trimEnd().length;
    this.#before = before === undefined ? { alone: 0, more: 0 } : this.#repeats(before);
  }

  look(_screen: Screen, view: ScreenView): Presence {
    if (view.composer === undefined) return "hidden";
    return this.presenceOf(view.composer);
  }

  /** Like `look`, for a text that is known from another source than the screen. */
  presenceOf(composer: Pick<ComposerView, "text" | "pasteMarkers">): Presence {
    const folded = composer.pasteMarkers > 0;
    const seen = signature(folded ? composer.text.replace(PASTE_MARKER, "") : composer.text, this.#message);
    const presence = this.#standingAs(seen, folded);
    if (this.#residue === "" || presence === "there" || presence === "absent") return presence;
    // The text was drawn over the beginning of the residue.
    const ends = Array.from({ length: this.#residue.length }, (_, i) => this.#residue.slice(i));
    const rests = ends.filter((end) => seen.endsWith(end)).map((end) => seen.slice(0, -end.length));
    const whole = rests.map((rest) => this.#standingAs(rest, folded)).find((one) => one === "there" || one === "worn");
    return whole ?? presence;
  }

  #standingAs(seen: string, folded: boolean): Presence {
    if (seen === "") return folded ? "there" : "absent";
    if (seen === this.#wanted) return "there";
    if (this.#wanted.includes(seen) && (folded || this.#isTail(seen))) return "there";
    if (this.#letters.matches(seen) || this.#isTail(seen, true)) return "worn";
    if (this.#wanted.includes(seen)) return "partial";
    const ours = folded || seen.includes(this.#wanted.slice(-TAIL_LENGTH)) || this.#isEdited(seen);
    return ours ? "mixed" : "absent";
  }

  /** True if the middle was edited: the text's beginning and end are still there for the most part. */
  #isEdited(seen: string): boolean {
    const most = Math.min(seen.length, this.#wanted.length);
    let head = 0;
    while (head < most && seen[head] === this.#wanted[head]) head++;
    let tail = 0;
    while (tail < most - head && seen.at(-1 - tail) === this.#wanted.at(-1 - tail)) tail++;
    return head + tail >= EDITED_SHARE * this.#wanted.length;
  }

  /** True if a long text is shown scrolled: the box holds a part that reaches the text's end. */
  #isTail(seen: string, isWorn = false): boolean {
    if (seen.length < TAIL_LENGTH) return false;
    return isWorn ? this.#letters.matches(seen, true) : this.#wanted.endsWith(seen);
  }

  /**
   * How the agent repeats the text above its composer after it has taken it: alone, or followed by more, which a person
   * typed between the last look and Enter. Unseen if the text is folded, wrapped or too short to decide.
   */
  repeated(screen: Screen, view: ScreenView): "alone" | "more" | "unseen" {
    const { alone, more } = this.#repeats(screen, view.composer);
    if (more > this.#before.more) return "more";
    return alone > this.#before.alone ? "alone" : "unseen";
  }

  #repeats(screen: Screen, composer?: ComposerView): Repeats {
    const found = { alone: 0, more: 0 };
    const isShort = this.#ending.length < ENDING_LEAST;
    if (isShort && (this.#ending === "" || this.#message.trim() !== this.#ending)) return found;
    screen.lines.forEach((line, y) => {
      if (composer !== undefined && y >= composer.top && y <= composer.bottom) return;
      const text = isShort ? (REPEATED_ROW.exec(line.text)?.[1] ?? "").trimStart() : line.text;
      const at = text.lastIndexOf(this.#ending, isShort ? 0 : undefined);
      if (at < 0) return;
      // The text's own blanks at its end are skipped: they do not show that nothing follows.
      const isAlone = (text[at + this.#ending.length + this.#blanks] ?? " ").trim() === "";
      found[isAlone ? "alone" : "more"]++;
    });
    return found;
  }
}

interface TailFacts {
  readonly hits: number;
  /** Rows from the last row with text up to the lowest hit. */
  readonly distance: number;
  /**
   * Rows from the lowest hit down to the cursor: 0 while the text is being typed, unless the program keeps it
   * elsewhere.
   */
  readonly cursorBelow: number;
}

/**
 * For unknown programs: searches for the end of the text anywhere on the screen. The text is there if its end occurs
 * more often, or lower down, than before. It has been taken if it moved up or vanished after that, or if the cursor was
 * in its last row and went to a new one: a silent program, or one that repeats the text, shows nothing else.
 */
export class TailProbe implements Probe {
  readonly #key: string;
  readonly #message: string;
  readonly #before: TailFacts;
  #echo: TailFacts | undefined;

  constructor(message: string, before: Screen) {
    this.#message = message;
    this.#key = signature(message, message).slice(-TAIL_LENGTH);
    this.#before = this.#facts(before);
  }

  look(screen: Screen): Presence {
    const now = this.#facts(screen);
    if (this.#echo === undefined) {
      const isNew = now.hits > this.#before.hits || (now.hits > 0 && now.distance < this.#before.distance);
      if (!isNew) return "absent";
      this.#echo = now;
      return "there";
    }
    const { hits, distance, cursorBelow } = this.#echo;
    const newLine = cursorBelow === 0 && now.cursorBelow > 0;
    const taken = now.hits === 0 || now.hits < hits || now.distance > distance || newLine;
    return taken ? "absent" : "there";
  }

  #facts(screen: Screen): TailFacts {
    let text = "";
    const rowAt: number[] = [];
    let last = 0;
    screen.lines.forEach((line, y) => {
      const part = signature(line.text, this.#message);
      if (line.text !== "") last = y;
      for (let i = 0; i < part.length; i++) rowAt.push(y);
      text += part;
    });
    let hits = 0;
    let lowest = -1;
    for (let at = text.indexOf(this.#key); at !== -1; at = text.indexOf(this.#key, at + 1)) {
      hits++;
      lowest = rowAt[at + this.#key.length - 1] ?? lowest;
    }
    if (hits === 0) return { hits, distance: Number.POSITIVE_INFINITY, cursorBelow: 0 };
    return { hits, distance: last - lowest, cursorBelow: screen.cursorY - lowest };
  }
}
