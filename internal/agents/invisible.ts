/** Scripts in which joiners and direction marks are part of spelling. */
const SCRIPTS = [
  "Arabic",
  "Hebrew",
  "Syriac",
  "Devanagari",
  "Bengali",
  "Gurmukhi",
  "Gujarati",
  "Oriya",
  "Tamil",
  "Telugu",
  "Kannada",
  "Malayalam",
  "Sinhala",
  "Khmer",
  "Myanmar",
  "Mongolian",
];

const EMOJI = "(?:\\p{Extended_Pictographic}|\\p{Emoji_Modifier})[\\ufe0e\\ufe0f\\u200d\\u{e0020}-\\u{e007f}]+";
const KEYCAP = "[0-9#*]\\ufe0f(?=\\u20e3)";
const SPELLING = `[${SCRIPTS.map((script) => `\\p{Script=${script}}`).join("")}][\\u200c\\u200d\\u200f\\u180b-\\u180d\\u180f]+`;
const INVISIBLE = "\\p{Default_Ignorable_Code_Point}|[\\ufff9-\\ufffb]";
const PARTS = new RegExp(`(${EMOJI}|${KEYCAP}|${SPELLING})|${INVISIBLE}`, "gu");

/**
 * Removes characters that take no column and hide something: zero-width and direction marks, tags, fillers. Those that
 * belong to an emoji or to the spelling of a word stay. Line and paragraph separators become line feeds.
 */
export function withoutInvisible(text: string): string {
  return text.replace(PARTS, (_all, kept: string | undefined) => kept ?? "").replace(/[\u2028\u2029]/g, "\n");
}
