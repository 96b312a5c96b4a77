/** One line of a byte stream, without its line feed. */
export interface CutLine {
  /** May share the memory of the chunk. */
  readonly bytes: Buffer;
  /** Bytes dropped at the end because the line is too long; 0: the line is whole. */
  readonly lostBytes: number;
}

const LF = 0x0a;

/**
 * Cuts a byte stream into lines. Keeps at most `maxBytes` of a line and only counts the rest, so that a line of any
 * length takes little memory.
 */
export class LineCutter {
  readonly #maxBytes: number;
  #pieces: Uint8Array[] = [];
  #kept = 0;
  #lost = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes dropped so far of the line that has not ended yet. */
  get lostBytes(): number {
    return this.#lost;
  }

  /** Returns the lines that this chunk completes. May keep a reference to the chunk. */
  push(chunk: Uint8Array): CutLine[] {
    const lines: CutLine[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      this.#keep(chunk.subarray(start, end));
      lines.push(this.#take());
      start = end + 1;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
    return lines;
  }

  /** The bytes after the last line feed; undefined if there are none. */
  end(): CutLine | undefined {
    return this.#kept + this.#lost === 0 ? undefined : this.#take();
  }

  #keep(piece: Uint8Array): void {
    const room = Math.min(piece.length, this.#maxBytes - this.#kept);
    if (room > 0) this.#pieces.push(room === piece.length ? piece : piece.subarray(0, room));
    this.#kept += Math.max(0, room);
    this.#lost += piece.length - Math.max(0, room);
  }

  #take(): CutLine {
    const line = { bytes: joined(this.#pieces), lostBytes: this.#lost };
    this.#pieces = [];
    this.#kept = 0;
    this.#lost = 0;
    return line;
  }
}

/** A single piece is not copied: most lines lie in one chunk. */
function joined(pieces: readonly Uint8Array[]): Buffer {
  const [first] = pieces;
  if (first === undefined || pieces.length > 1) return Buffer.concat(pieces);
  return Buffer.from(first.buffer, first.byteOffset, first.byteLength);
}
