import type { IBuffer, IBufferCell } from "@xterm/headless";

/** Resets a terminal that shows something else to the state of a fresh one, without touching its scrollback. */
export const REDRAW_RESET =
  "\x1b[?1049l\x1b[?1;5;6;9;1000;1002;1003;1004;1005;1006;2004l\x1b[4l\x1b>\x1b[?7;25h\x1b[r\x1b[0m\x1b[H\x1b[2J";

/** The emulator's marks for the kind of a colour's number. */
const MODE_PALETTE = 0x2000000;
const MODE_RGB = 0x3000000;

/** The emulator's data on an underline; its public interface reveals only that there is one. */
interface Extended {
  readonly extended?: { readonly underlineStyle: number; readonly underlineColor: number };
}

/** Bytes that print the rows of a screen from its first cell on; long lines wrap by themselves as they did. */
export function drawRows(buffer: IBuffer, cols: number, rows: number): string {
  const pen = new Pen();
  const cell = buffer.getNullCell();
  for (let y = 0; y < rows; y++) {
    const line = buffer.getLine(buffer.baseY + y);
    const next = y + 1 < rows ? buffer.getLine(buffer.baseY + y + 1) : undefined;
    if (y > 0 && line?.isWrapped !== true) pen.print("\r\n");
    // A wide character that did not fit left the last cell empty, and will do so again.
    const isGap =
      next?.isWrapped === true && next.getCell(0)?.getWidth() === 2 && line?.getCell(cols - 1)?.getChars() === "";
    for (let x = 0; x < (isGap ? cols - 1 : cols); x++) {
      if (line?.getCell(x, cell) === undefined) continue;
      if (cell.getWidth() > 0) pen.draw(cell);
      // The first cell of a wrapped row is printed: stepping over it would not leave the row above.
      if (x === 0 && line.isWrapped) pen.printBlanks();
    }
    if (next?.isWrapped === true) pen.printBlanks();
    else pen.forgetBlanks();
  }
  return `${pen.text}\x1b[0m`;
}

/** Collects text, emits a style where it begins, and skips unwritten cells. */
class Pen {
  text = "";
  #style = "0";
  #blanks = 0;

  draw(cell: IBufferCell): void {
    const style = sgrOf(cell);
    const chars = cell.getChars();
    if (chars === "" && style === "0") {
      this.#blanks++;
      return;
    }
    if (this.#blanks > 0) this.text += this.#blanks === 1 ? "\x1b[C" : `\x1b[${this.#blanks}C`;
    this.#blanks = 0;
    if (style !== this.#style) this.text += `\x1b[${style}m`;
    this.#style = style;
    this.text += chars || " ";
  }

  print(text: string): void {
    this.text += text;
  }

  printBlanks(): void {
    if (this.#blanks > 0 && this.#style !== "0") {
      this.text += "\x1b[0m";
      this.#style = "0";
    }
    this.text += " ".repeat(this.#blanks);
    this.#blanks = 0;
  }

  forgetBlanks(): void {
    this.#blanks = 0;
  }
}

/** The cell's whole style, beginning with a reset, as the parameters of one SGR sequence. */
export function sgrOf(cell: IBufferCell): string {
  let sgr = "0";
  if (cell.isBold()) sgr += ";1";
  if (cell.isDim()) sgr += ";2";
  if (cell.isItalic()) sgr += ";3";
  if (cell.isUnderline()) sgr += underlineOf(cell);
  if (cell.isBlink()) sgr += ";5";
  if (cell.isInverse()) sgr += ";7";
  if (cell.isInvisible()) sgr += ";8";
  if (cell.isStrikethrough()) sgr += ";9";
  if (cell.isOverline()) sgr += ";53";
  if (!cell.isFgDefault()) sgr += colour(cell.getFgColorMode(), cell.getFgColor(), 30);
  if (!cell.isBgDefault()) sgr += colour(cell.getBgColorMode(), cell.getBgColor(), 40);
  return sgr;
}

function underlineOf(cell: IBufferCell & Extended): string {
  const { underlineStyle = 1, underlineColor = 0 } = cell.extended ?? {};
  const style = underlineStyle > 1 ? `;4:${underlineStyle}` : ";4";
  const mode = underlineColor & MODE_RGB;
  if (mode === MODE_RGB) return `${style};58${rgb(underlineColor)}`;
  return mode === 0 ? style : `${style};58;5;${underlineColor & 0xff}`;
}

/**
 * One of the 16 basic colours is sent as such, not as an entry of the palette: a person's terminal may show the two
 * differently.
 */
function colour(mode: number, value: number, base: 30 | 40): string {
  if (mode === MODE_RGB) return `;${base + 8}${rgb(value)}`;
  if (mode === MODE_PALETTE) return `;${base + 8};5;${value}`;
  return value < 8 ? `;${base + value}` : `;${base + 60 + value - 8}`;
}

function rgb(value: number): string {
  return `;2;${(value >> 16) & 0xff};${(value >> 8) & 0xff};${value & 0xff}`;
}
