import { type CutLine, LineCutter } from "./line-cutter.ts";

/** One line of a program's output, without its end. */
export interface OutputLine {
  readonly text: string;
  /** Bytes dropped at the end because the line is too long; 0: the line is whole. */
  readonly lostBytes: number;
}

const CR = 0x0d;

/**
 * Cuts a byte stream into lines of text, like `LineCutter`. Bytes that are not UTF-8 become U+FFFD; a character is
 * never cut. Empty lines are left out, and so is a carriage return at the end of a line.
 */
export class LineReader {
  readonly #lines: LineCutter;

  constructor(maxBytes: number) {
    this.#lines = new LineCutter(maxBytes);
  }

  /** Returns the lines that this chunk completes. May keep a reference to the chunk. */
  push(chunk: Uint8Array): OutputLine[] {
    return this.#lines.push(chunk).flatMap((line) => textOf(line) ?? []);
  }

  /** The text after the last line end; undefined if there is none. */
  end(): OutputLine | undefined {
    const last = this.#lines.end();
    return last === undefined ? undefined : textOf(last);
  }
}

function textOf({ bytes, lostBytes }: CutLine): OutputLine | undefined {
  const end = lostBytes === 0 && bytes.at(-1) === CR ? bytes.length - 1 : bytes.length;
  if (end === 0 && lostBytes === 0) return undefined;
  return { text: decode(bytes.subarray(0, end), lostBytes > 0), lostBytes };
}

/** With `isCut`, an incomplete character at the end is left out. */
function decode(bytes: Buffer, isCut: boolean): string {
  return isCut ? new TextDecoder().decode(bytes, { stream: true }) : bytes.toString("utf8");
}
