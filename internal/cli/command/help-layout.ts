/** A line of two columns. */
export interface HelpRow {
  readonly left: string;
  readonly right: string;
}

/**
 * The left column takes up to this share of the width; if a left side is longer, its right side begins on the next
 * line.
 */
const LEFT_PART = 0.45;

/** Rows with their right sides one below the other, wrapped. */
export function inColumns(rows: readonly HelpRow[], width: number, gap: number): string {
  const lefts = rows.map(({ left }) => left.length).filter((length) => length <= width * LEFT_PART);
  const column = Math.max(0, ...lefts) + gap;
  return rows.map((row) => rowLines(row, column, width, gap)).join("\n");
}

function rowLines({ left, right }: HelpRow, column: number, width: number, gap: number): string {
  const indent = " ".repeat(column);
  const lines = right.split("\n").flatMap((line) => wrapped(line, width - column));
  if (left.length + gap > column) return [left, ...lines.map((line) => indent + line)].join("\n");
  return lines.map((line, i) => `${i === 0 ? left.padEnd(column) : indent}${line}`.trimEnd()).join("\n");
}

/** Wraps each paragraph; an indented one stays as it is. */
export function paragraphs(text: string, width: number): string {
  return text
    .split("\n\n")
    .map((paragraph) => (paragraph.startsWith(" ") ? paragraph : wrapped(paragraph, width).join("\n")))
    .join("\n\n");
}

function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
