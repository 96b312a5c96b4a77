import { plainText } from "../../../../internal/base/sanitise.ts";
import { clipText, textWidth } from "../../../../internal/base/text-width.ts";

/**
 * Wraps a text into at most `most` plain lines of at most `columns` columns, between words if possible. If the text is
 * longer, the last line ends in `…`.
 */
export function wrapWords(text: string, columns: number, most: number): readonly string[] {
  const lines: string[] = [];
  for (const line of plainText(text).replaceAll("\t", "    ").split("\n")) {
    for (const part of wrapLine(line.trimEnd(), Math.max(2, columns))) {
      if (lines.length === most) return [...lines.slice(0, -1), clipText(`${lines.at(-1) ?? ""}…`, columns)];
      lines.push(part);
    }
  }
  return lines;
}

/** The longest suffix of a line that fits `columns`. */
export function tailText(text: string, columns: number): string {
  const parts = [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment);
  let width = textWidth(text);
  let at = 0;
  for (; width > columns && at < parts.length; at++) width -= textWidth(parts[at] ?? "");
  return parts.slice(at).join("");
}

function* wrapLine(line: string, columns: number): Generator<string, void, undefined> {
  let out = "";
  let width = 0;
  for (const word of line.split(/(?<= )/)) {
    const next = textWidth(word.trimEnd());
    if (width + next > columns && out !== "") {
      yield out.trimEnd();
      [out, width] = ["", 0];
    }
    if (next <= columns) {
      out += word;
      width += textWidth(word);
      continue;
    }
    for (const { segment } of new Intl.Segmenter().segment(word)) {
      const more = textWidth(segment);
      if (width + more > columns) {
        yield out;
        [out, width] = ["", 0];
      }
      out += segment;
      width += more;
    }
  }
  yield out.trimEnd();
}
