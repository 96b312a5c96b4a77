import { clipText, textWidth } from "../base/text-width.ts";

const SGR = /\x1b\[[0-9;:]*m/g;

/**
 * `clipText` for text with styling in it; the styling stays and uses no columns. The input comes from `styledText`.
 */
export function clipStyled(text: string, columns: number): string {
  let out = "";
  let left = columns;
  let last = 0;
  for (const match of [...text.matchAll(SGR), undefined]) {
    const part = text.slice(last, match?.index);
    if (left > 0 || textWidth(part) === 0) {
      const follows = match !== undefined && textWidth(text.slice(match.index).replaceAll(SGR, "")) > 0;
      const clipped = clipText(follows && textWidth(part) === left ? `${part} ` : part, left);
      out += clipped;
      left = clipped === part ? left - textWidth(part) : 0;
    }
    if (match === undefined) break;
    out += match[0];
    last = match.index + match[0].length;
  }
  return out;
}

/**
 * `clipStyled`, padded with blanks to exactly `columns`; styling ends with the text. The text comes from `styledText`:
 * it has no other escape sequences.
 */
export function fitStyled(text: string, columns: number): string {
  const clipped = clipStyled(text, columns);
  const reset = clipped.includes("\x1b[") && !clipped.endsWith("\x1b[0m") ? "\x1b[0m" : "";
  return `${clipped}${reset}${" ".repeat(Math.max(0, columns - textWidth(clipped.replaceAll(SGR, ""))))}`;
}
