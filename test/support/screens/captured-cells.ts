/** A cell's style as `capture-pane -e` describes it, starting from the default. */
interface Style {
  attributes: ReadonlySet<string>;
  foreground: string;
  background: string;
  underline: string;
  drawing: boolean;
}

const PLAIN: Style = { attributes: new Set(), foreground: "", background: "", underline: "", drawing: false };
const PART = /\x1b\[([0-9;:]*)m|\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07)|([\x0e\x0f])|([^\x1b\x0e\x0f]+)/g;
/** The attributes that are visible in an empty cell. */
const SHOWN_ON_BLANKS: readonly string[] = ["4", "4:2", "4:3", "4:4", "4:5", "5", "7", "9", "53"];

/** Line drawing as tmux prints it, between shift out and shift in, and the characters that it shows. */
const DRAWING = "`abcdefghijklmnopqrstuvwxyz{|}~";
const DRAWN = "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·";

/**
 * The rows of a styled capture, each as text with its styles in braces; equivalent captures give the same rows. Blanks
 * at the end of a row that look like unwritten cells are left out, and so are empty rows at the end. With
 * `erased: "blank"`, blanks whose only visible style is a background colour look like unwritten cells too.
 */
export function capturedCells(capture: string, erased: "coloured" | "blank" = "coloured"): readonly string[] {
  let style = PLAIN;
  const rows = capture.split("\n").map((line) => {
    const runs: Run[] = [];
    for (const [, sgr, shift, text] of line.matchAll(PART)) {
      if (sgr !== undefined) style = styled(style, sgr);
      if (shift !== undefined) style = { ...style, drawing: shift === "\x0e" };
      if (text === undefined) continue;
      for (const [part] of (style.drawing ? drawn(text) : text).matchAll(/ +|[^ ]+/g)) {
        const blank = blankOf(style);
        const look = part.startsWith(" ") ? blank : lookOf(style);
        const last = runs.at(-1);
        if (last?.look === look) last.text += part;
        else
          runs.push({
            look,
            isNothing: blank === "" || (erased === "blank" && blank === style.background),
            text: part,
          });
      }
    }
    return rowOf(runs);
  });
  return rows.slice(0, rows.findLastIndex((row) => row !== "") + 1);
}

interface Run {
  readonly look: string;
  /** Its blanks look like unwritten cells. */
  readonly isNothing: boolean;
  text: string;
}

function rowOf(runs: readonly Run[]): string {
  let row = "";
  let isEnd = true;
  for (const { look, isNothing, text } of runs.toReversed()) {
    const kept = isEnd && isNothing ? text.replace(/ +$/, "") : text;
    if (kept === "") continue;
    isEnd = false;
    row = `${look === "" ? "" : `{${look}}`}${kept}${look === "" ? "" : "{}"}${row}`;
  }
  return row;
}

/** One parameter, or the parameters of a colour. */
const PARAMETER = /[345]8;5;\d+|[345]8;2;\d+;\d+;\d+|[\d:]+/g;

function styled(before: Style, sgr: string): Style {
  return (sgr.match(PARAMETER) ?? ["0"]).reduce(withParam, before);
}

function withParam(style: Style, param: string): Style {
  const number = Number.parseInt(param, 10) || 0;
  if (number === 0) return { ...PLAIN, drawing: style.drawing };
  if ((number >= 30 && number < 40) || (number >= 90 && number < 98))
    return { ...style, foreground: number === 39 ? "" : param };
  if ((number >= 40 && number < 50) || (number >= 100 && number < 108))
    return { ...style, background: number === 49 ? "" : param };
  if (number === 58 || number === 59) return { ...style, underline: number === 59 ? "" : param };
  return { ...style, attributes: new Set([...style.attributes, param]) };
}

function lookOf({ attributes, foreground, background, underline }: Style): string {
  return [...[...attributes].sort(), foreground, background, underline].filter(Boolean).join(" ");
}

/** The part of a style that is visible in an empty cell. */
function blankOf({ attributes, background }: Style): string {
  return [...SHOWN_ON_BLANKS.filter((one) => attributes.has(one)), background].filter(Boolean).join(" ");
}

function drawn(text: string): string {
  return [...text].map((letter) => DRAWN[DRAWING.indexOf(letter)] ?? letter).join("");
}
