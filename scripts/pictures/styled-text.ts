/** Part of a line in one style. */
export interface StyledSpan {
  readonly text: string;
  readonly isBold: boolean;
  readonly isDim: boolean;
  readonly color?: Color;
}

export type Color = "red" | "green" | "yellow" | "blue" | "magenta" | "cyan";

const COLORS: readonly (Color | undefined)[] = [undefined, "red", "green", "yellow", "blue", "magenta", "cyan"];
const PLAIN = { isBold: false, isDim: false };
const SGR = /\x1b\[([\d;]*)m/;

/**
 * Parses one line of terminal output with SGR sequences for bold, dim and the first eight colours; other sequences have
 * no effect.
 */
export function spansOf(line: string): readonly StyledSpan[] {
  const spans: StyledSpan[] = [];
  let style: Omit<StyledSpan, "text"> = PLAIN;
  for (const [i, part] of line.split(SGR).entries()) {
    if (i % 2 === 1) style = part.split(";").map(Number).reduce(styled, style);
    else if (part !== "") spans.push({ text: part, ...style });
  }
  return spans;
}

/** Wraps a line for a terminal of this many columns; assumes that every character takes one column. */
export function wrapped(line: readonly StyledSpan[], columns: number): readonly (readonly StyledSpan[])[] {
  const rows: StyledSpan[][] = [[]];
  let room = columns;
  for (const span of line) {
    for (let rest = span.text; rest !== ""; ) {
      if (room === 0) {
        rows.push([]);
        room = columns;
      }
      const text = rest.slice(0, room);
      rows.at(-1)?.push({ ...span, text });
      rest = rest.slice(text.length);
      room -= text.length;
    }
  }
  return rows;
}

function styled(style: Omit<StyledSpan, "text">, code: number): Omit<StyledSpan, "text"> {
  if (code === 0) return PLAIN;
  if (code === 1) return { ...style, isBold: true };
  if (code === 2) return { ...style, isDim: true };
  if (code === 22) return { ...style, isBold: false, isDim: false };
  const { color: _, ...colorless } = style;
  if (code === 39) return colorless;
  const color = COLORS[code >= 90 ? code - 90 : code - 30];
  return color === undefined ? style : { ...style, color };
}
