/** One line of a program's output, without its end. */
export interface OutputLine {
  readonly text: string;
  /** Bytes at its end that were dropped because it is too long; 0: it is whole. */
  readonly lostBytes: number;
}

const LF = 0x0a;
const CR = 0x0d;

/**
 * Cuts a byte stream into lines. Keeps at most `maxBytes` of a line and counts the rest, so that a line of any length
 * costs neither memory nor time. Bytes that are no UTF-8 become U+FFFD; a character is never cut. Empty lines are left
 * out.
 */
export class LineReader {
  readonly #maxBytes: number;
  #pieces: Buffer[] = [];
  #kept = 0;
  #lost = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that this chunk completes. The chunk may be kept. */
  push(chunk: Buffer): OutputLine[] {
    const lines: OutputLine[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      this.#keep(chunk.subarray(start, end));
      const line = this.#take();
      if (line !== undefined) lines.push(line);
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
    return lines;
  }

  /** The text after the last line end; undefined if there is none. */
  end(): OutputLine | undefined {
    return this.#take();
  }

  #keep(piece: Buffer): void {
    const room = Math.min(piece.length, this.#maxBytes - this.#kept);
    if (room > 0) this.#pieces.push(room === piece.length ? piece : piece.subarray(0, room));
    this.#kept += Math.max(0, room);
    this.#lost += piece.length - Math.max(0, room);
  }

  #take(): OutputLine | undefined {
    const bytes = this.#pieces.length === 1 ? (this.#pieces[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#pieces);
    const lostBytes = this.#lost;
    this.#pieces = [];
    this.#kept = 0;
    this.#lost = 0;
    const end = lostBytes === 0 && bytes.at(-1) === CR ? bytes.length - 1 : bytes.length;
    if (end === 0 && lostBytes === 0) return undefined;
    return { text: decode(bytes.subarray(0, end), lostBytes > 0), lostBytes };
  }
}

/** With `isCut`, an incomplete character at the end is left out. */
function decode(bytes: Buffer, isCut: boolean): string {
  return isCut ? new TextDecoder().decode(bytes, { stream: true }) : bytes.toString("utf8");
}
