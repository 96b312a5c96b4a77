/** Letters and digits distinguish texts; borders, wraps, marks and widths differ from terminal to terminal. */
const LETTER = /[\p{L}\p{N}]/u;
/**
 * Characters for which programs, tmux and libraries count different numbers of columns, or that a terminal may drop:
 * the parts of Hangul syllables, spacing vowel signs, characters joined to an emoji, halves of flags, joiners.
 */
const JAMO = /[\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7fb]/u;
const JOINED = /\p{Cf}|\p{Emoji_Modifier}|\p{Regional_Indicator}|\ufe0e|\ufe0f|\u20e3/u;
const SPACING_MARK = /\p{Mc}|\uff9e|\uff9f/u;
/** Marks of newer scripts, and newer marks of older scripts, which older tables of widths do not have. */
const MARK = /[\p{Mn}\p{Me}]/u;
const NEWER_SCRIPTS = 0x1700;
const NEWER_MARK =
  /[\u065f\u07fd\u0859-\u085b\u0898-\u089f\u08ca-\u08e1\u08e3-\u08ff\u093a\u0956\u0957\u09fe\u0afa-\u0aff\u0b55\u0c04\u0c3c\u0c81\u0d00\u0d3b\u0d3c\u0eba\u0ece]/u;
/**
 * Claude Code counts no column for characters at the places of vowel signs in the blocks of India's scripts, each of
 * 128 characters. Some of these places hold a letter, such as \u0d3a or \u093d, which Claude Code does not draw.
 */
const INDIC = { first: 0x0900, last: 0x0d4f, block: 0x80 } as const;
const SIGN_PLACES: readonly (readonly [number, number])[] = [
  [0x00, 0x02],
  [0x3a, 0x4d],
  [0x62, 0x63],
];
const JAMO_COLUMNS = 2;
const JOINED_COLUMNS = 2;

interface DrawnLetter {
  readonly letter: string;
  /** How many columns the program and the terminal may have drifted apart between the letter before and this one. */
  readonly drift: number;
}

/**
 * A message's letters and digits in order, and the most of them that a terminal may have lost. Programs such as Codex
 * place the text after a wide character by their own count of columns; if they count fewer columns than tmux, that text
 * overwrites as many columns before it. So a letter may be missing only after a character of disputed width, and no
 * more letters than columns are in dispute up to there. Letters are never added.
 */
export class DrawnLetters {
  readonly text: string;
  readonly #letters: readonly DrawnLetter[];
  readonly #isUneven: boolean;

  constructor(message: string) {
    const letters: DrawnLetter[] = [];
    let drift = 0;
    for (const character of message.normalize("NFC")) {
      drift += disputedColumns(character);
      if (!LETTER.test(character)) continue;
      letters.push({ letter: character, drift });
      drift = 0;
    }
    this.#letters = letters;
    this.text = letters.map(({ letter }) => letter).join("");
    this.#isUneven = letters.some(({ drift: columns }) => columns > 0) || drift > 0;
  }

  /** True if `seen`, the letters of a drawing, can be the rest of this text: all of it, or its end with `isClipped`. */
  matches(seen: string, isClipped = false): boolean {
    if (seen === this.text) return true;
    if (!this.#isUneven || seen.length > this.text.length) return false;
    return isClipped ? this.#endsAs([...seen]) : this.#isLeft([...seen]);
  }

  #isLeft(seen: readonly string[]): boolean {
    let at = 0;
    let columns = 0;
    for (const { letter, drift } of this.#letters) {
      columns += drift;
      if (letter === seen[at]) at++;
      else if (--columns < 0) return false;
    }
    return at === seen.length && at > 0;
  }

  #endsAs(seen: readonly string[]): boolean {
    let at = seen.length - 1;
    let columns = 0;
    for (let i = this.#letters.length - 1; i >= 0 && at >= 0; i--) {
      const { letter, drift } = this.#letters[i] as DrawnLetter;
      if (letter === seen[at]) at--;
      else columns--;
      columns += drift;
    }
    return at < 0 && columns >= 0;
  }
}

function disputedColumns(character: string): number {
  if (JAMO.test(character)) return JAMO_COLUMNS;
  if (JOINED.test(character)) return JOINED_COLUMNS;
  const isNewer = (character.codePointAt(0) ?? 0) >= NEWER_SCRIPTS;
  return SPACING_MARK.test(character) ||
    (isNewer && MARK.test(character)) ||
    isUndrawn(character) ||
    NEWER_MARK.test(character)
    ? 1
    : 0;
}

function isUndrawn(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  const { first, last, block } = INDIC;
  if (!LETTER.test(character)) return false;
  return code >= first && code <= last && SIGN_PLACES.some(([from, to]) => code % block >= from && code % block <= to);
}

/** The letters and digits of a text. */
export function lettersOf(text: string): string {
  return text.normalize("NFC").replace(/[^\p{L}\p{N}]/gu, "");
}
