import { type Color, type StyledSpan, spansOf, wrapped } from "./styled-text.ts";

const COLUMN = 8.4;
const ROW = 19;
const MARGIN = 18;
const BAR = 34;
const BACKGROUND = "#15171c";
const FOREGROUND = "#d7dae0";
const COLORS: Readonly<Record<Color, string>> = {
  red: "#f07178",
  green: "#a5d66c",
  yellow: "#ffcb6b",
  blue: "#82aaff",
  magenta: "#c792ea",
  cyan: "#7fdbca",
};
const DIM = "#868c98";
const FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";

/** A terminal window that shows these lines (with SGR sequences), as a self-contained SVG document without scripts. */
export function terminalSvg(title: string, lines: readonly string[], columns: number): string {
  const rows = lines.flatMap((line) => wrapped(spansOf(line), columns));
  const width = Math.ceil(columns * COLUMN + 2 * MARGIN);
  const height = BAR + rows.length * ROW + MARGIN;
  const text = (y: number, body: string) => `<text y="${y}" xml:space="preserve">${body}</text>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" rx="8" fill="${BACKGROUND}"/>`,
    ...["#f07178", "#ffcb6b", "#a5d66c"].map((fill, i) => `<circle cx="${20 + i * 18}" cy="17" r="5" fill="${fill}"/>`),
    `<g font-family="${FONT}" font-size="14" fill="${FOREGROUND}">`,
    ...rows.flatMap((row, i) => {
      const body = bodyOf(row);
      return body === "" ? [] : [text(BAR + i * ROW + 14, body)];
    }),
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}

/** Places each span at its column in a terminal, whatever the font's own widths are. */
function bodyOf(row: readonly StyledSpan[]): string {
  let column = 0;
  return row
    .map((span) => {
      const at = column;
      column += span.text.length;
      const blank = span.text.trim() === "";
      return blank
        ? ""
        : `<tspan x="${(MARGIN + at * COLUMN).toFixed(1)}"${styleOf(span)}>${escaped(span.text)}</tspan>`;
    })
    .join("");
}

function styleOf({ isBold, isDim, color }: StyledSpan): string {
  const fill = color === undefined ? (isDim ? DIM : undefined) : COLORS[color];
  return `${isBold ? ' font-weight="bold"' : ""}${fill === undefined ? "" : ` fill="${fill}"`}`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
