import { codePointWidth } from "../base/text-width.ts";

const SGR = /\x1b\[[0-9;:]*m/y;

/**
 * The beginning of `text` that fits `columns`, filled up with blanks to exactly that width. Styling (SGR) stays, takes no
 * columns and is reset at the end. The text comes from `styledText`: it has no other escape sequences.
 */
export function fitStyled(text: string, columns: number): string {
  let out = "";
  let width = 0;
  let at = 0;
  let joined = false;
  while (at < text.length) {
    SGR.lastIndex = at;
    const style = SGR.exec(text)?.[0];
    if (style !== undefined) {
      out += style;
      at += style.length;
      continue;
    }
    const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
    const needed = joined ? 0 : codePointWidth(character);
    if (width + needed > columns) break;
    out += character;
    width += needed;
    at += character.length;
    joined = character === "\u200d";
  }
  const reset = text.includes("\x1b[") ? "\x1b[0m" : "";
  return `${out}${reset}${" ".repeat(Math.max(0, columns - width))}`;
}
