import type { ComposerView } from "../../agents/profile.ts";
import type { Screen } from "../../agents/screen.ts";

/** Text that no person types: two blanks first, or marks without the letter that they belong to. */
const LEFT = /^(?: {2}|[ \p{M}]+$)/u;

/**
 * Returns the rest of a text that has left the composer. Programs that count fewer columns than tmux for some
 * characters erase too few when a text leaves: its last letters stay on the screen of an empty composer. The cursor is
 * then at the beginning, before blanks or a placeholder, and nothing is there but characters of that text.
 */
export function residueOn(
  { lines, cursorX, cursorY }: Screen,
  composer: ComposerView,
  text: string,
): string | undefined {
  if (composer.text === "" || composer.pasteMarkers > 0 || composer.text.includes("\n")) return undefined;
  const row = lines[cursorY]?.text ?? "";
  const isAtStart = cursorY === composer.top && !/[\p{L}\p{N}\p{M}]/u.test(row.slice(0, cursorX));
  if (!isAtStart || !LEFT.test(composer.text)) return undefined;
  return isPartOf(composer.text, text.normalize("NFC")) ? composer.text : undefined;
}

/** True if a composer with this text shows nothing but the rest of the residue. */
export function isResidue(text: string, residue: string): boolean {
  return text === residue || (residue !== "" && text.startsWith("  ") && isPartOf(text, residue));
}

/** True if the characters of `part`, blanks aside, are in `whole` in the same order. */
export function isPartOf(part: string, whole: string): boolean {
  let at = 0;
  for (const character of part.normalize("NFC").replace(/\s/g, "")) {
    at = whole.indexOf(character, at);
    if (at < 0) return false;
    at += character.length;
  }
  return true;
}
