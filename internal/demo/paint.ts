import { type Line, plainLine, type Style } from "./model.ts";
import { type LiveRegion, lineWidth, rowsTaken } from "./render.ts";
import { wrapText } from "./wrap.ts";

const SGR: Readonly<Record<Style, string>> = {
  plain: "",
  dim: "\x1b[2m",
  bold: "\x1b[1m",
  accent: "\x1b[36m",
  error: "\x1b[31m",
  selected: "\x1b[1;36m",
};

/**
 * Clears from the cursor's row on and leaves the cursor there. ED alone is not enough: at the top left corner tmux
 * takes it for clearing the screen, and moves the erased text into the history.
 */
const CLEAR_BELOW = "\x1b7\x1b[2K\x1b[1B\x1b[J\x1b8";

/**
 * The current content of the live region: enough to find its top again, even after the terminal's width has changed.
 */
interface Drawn {
  readonly widths: readonly number[];
  readonly cursorRow: number;
  readonly cursorColumn: number;
  readonly frame: string;
}

/**
 * Renders frames as terminal bytes. On the main screen finished lines go above the live region and scroll into the
 * terminal's own history; on the alternate screen everything is drawn again.
 */
export class Painter {
  readonly #alternate: boolean;
  readonly #bracketedPaste: boolean;
  #drawn: Drawn | undefined;
  #title = "";

  constructor(options: { readonly alternateScreen: boolean; readonly bracketedPaste: boolean }) {
    this.#alternate = options.alternateScreen;
    this.#bracketedPaste = options.bracketedPaste;
  }

  begin(): string {
    return `${this.#alternate ? "\x1b[?1049h\x1b[H\x1b[2J" : ""}${this.#bracketedPaste ? "\x1b[?2004h" : ""}`;
  }

  /** Bytes that leave the terminal as it was found, with the cursor on a new line below the live region. */
  end(cols: number): string {
    const below = this.#alternate ? "" : `${this.#downFromTop(cols)}\r\n`;
    return `\x1b[?2004l\x1b[?25h\x1b[0m${below}${this.#alternate ? "\x1b[?1049l" : ""}`;
  }

  /** Forgets the screen: the next paint starts at the top left of an empty screen. */
  clear(): string {
    this.#drawn = undefined;
    return "\x1b[2J\x1b[H";
  }

  /**
   * Call it after the terminal's size has changed. The terminal may have dropped rows of the live region: tmux removes
   * rows below the cursor when a pane gets lower. The next paint draws the whole region, even where nothing else has
   * changed.
   */
  resized(): void {
    if (this.#drawn !== undefined) this.#drawn = { ...this.#drawn, frame: "" };
  }

  /** Bytes that print `finished` above the frame and draw the frame; empty when nothing changes. */
  paint(frame: LiveRegion, finished: readonly Line[], cols: number): string {
    const body = frame.lines.map(styled);
    const cursorRow = frame.cursor?.row ?? Math.max(0, body.length - 1);
    const cursorColumn = frame.cursor?.column ?? 0;
    const key = `${body.join("\n")}\n${cursorRow},${cursorColumn},${frame.cursor !== undefined},${cols}`;
    if (finished.length === 0 && this.#drawn?.frame === key && frame.title === this.#title) return "";
    let out = `\x1b[?25l${this.#toTop(cols)}`;
    if (finished.length > 0 || this.#shrank(cols)) out += CLEAR_BELOW;
    out += finished.map((content) => `${styled(content)}\r\n`).join("");
    out += body.map((row) => `\x1b[2K${row}`).join("\r\n");
    out += "\x1b[J";
    out += move(cursorRow - Math.max(0, body.length - 1), cursorColumn);
    if (frame.cursor !== undefined) out += "\x1b[?25h";
    this.#drawn = { widths: frame.lines.map(lineWidth), cursorRow, cursorColumn, frame: key };
    return out + this.#retitle(frame.title);
  }

  /** Bytes that draw the alternate screen: the end of the transcript, and below it the live region at the bottom. */
  paintAll(frame: LiveRegion, transcript: readonly Line[], cols: number, rows: number): string {
    const room = Math.max(0, rows - frame.lines.length);
    const above = tail(transcript, room, cols);
    const blank = Array.from({ length: room - above.length }, () => "");
    const all = [...above, ...blank, ...frame.lines.map(styled)];
    const cursor = frame.cursor;
    const at = cursor === undefined ? "" : `\x1b[${room + cursor.row + 1};${cursor.column + 1}H\x1b[?25h`;
    const key = `${all.join("\n")}${at}`;
    if (this.#drawn?.frame === key && frame.title === this.#title) return "";
    this.#drawn = { widths: [], cursorRow: 0, cursorColumn: 0, frame: key };
    const body = all.map((row, index) => `\x1b[${index + 1};1H\x1b[2K${row}`).join("");
    return `\x1b[?25l${body}${at}${this.#retitle(frame.title)}`;
  }

  /**
   * Moves to the first row of the live region. A terminal that has become narrower has broken its lines into more rows.
   */
  #toTop(cols: number): string {
    if (this.#drawn === undefined) return "\r";
    const { widths, cursorRow, cursorColumn } = this.#drawn;
    const above = widths.slice(0, cursorRow).reduce((sum, width) => sum + rowsTaken(width, cols), 0);
    const up = above + Math.floor(cursorColumn / Math.max(1, cols));
    return `\r${up > 0 ? `\x1b[${up}A` : ""}`;
  }

  #shrank(cols: number): boolean {
    return this.#drawn?.widths.some((width) => width > cols) ?? false;
  }

  #downFromTop(cols: number): string {
    const total = this.#drawn?.widths.reduce((sum, width) => sum + rowsTaken(width, cols), 0) ?? 1;
    return `${this.#toTop(cols)}${total > 1 ? `\x1b[${total - 1}B` : ""}`;
  }

  #retitle(title: string): string {
    if (title === this.#title) return "";
    this.#title = title;
    return `\x1b]2;${title}\x1b\\`;
  }
}

function styled(content: Line): string {
  return content.map((span) => (SGR[span.style] === "" ? span.text : `${SGR[span.style]}${span.text}\x1b[0m`)).join("");
}

/** Moves the cursor from the last row of the region: up by `-rows`, and to the column `column`. */
function move(rows: number, column: number): string {
  return `\r${rows < 0 ? `\x1b[${-rows}A` : ""}${column > 0 ? `\x1b[${column}C` : ""}`;
}

function tail(transcript: readonly Line[], rows: number, cols: number): string[] {
  const out: string[] = [];
  for (let index = transcript.length - 1; index >= 0 && out.length < rows; index--) {
    const content = transcript[index] ?? [];
    const style = SGR[content[0]?.style ?? "plain"];
    out.unshift(...wrapText(plainLine(content), cols).map((row) => `${style}${row}\x1b[0m`));
  }
  return rows === 0 ? [] : out.slice(-rows);
}
