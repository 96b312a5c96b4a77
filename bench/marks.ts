/** A mark that the pane's writer put between its bytes, as a reader found it. */
export interface Mark {
  readonly kind: "end" | "tick";
  /** The time of writing; ms of the machine's monotonic clock, which all processes share. */
  readonly writtenAt: number;
  readonly readAt: number;
  /** The bytes read so far. */
  readonly bytes: number;
}

export function markLine(kind: Mark["kind"], writtenAt: number): string {
  return `@@${kind}:${writtenAt.toFixed(3)}@@\n`;
}

const LONGEST = 40;

/** Counts bytes and finds marks in them, however the chunks are cut. */
export class MarkScanner {
  readonly #onMark: (mark: Mark) => void;
  #rest: Buffer = Buffer.alloc(0);
  #bytes = 0;

  constructor(onMark: (mark: Mark) => void) {
    this.#onMark = onMark;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    const joined =
      this.#rest.length === 0
        ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
        : Buffer.concat([this.#rest, chunk]);
    const from = joined.indexOf("@@");
    if (from < 0) {
      this.#rest = joined.at(-1) === 0x40 ? Buffer.from("@") : Buffer.alloc(0);
      return;
    }
    const text = joined.toString("latin1", from);
    let done = 0;
    for (const match of text.matchAll(/@@(end|tick):([\d.]+)@@/g)) {
      done = match.index + match[0].length;
      const readAt = Number(process.hrtime.bigint()) / 1e6;
      this.#onMark({ kind: match[1] as Mark["kind"], writtenAt: Number(match[2]), readAt, bytes: this.#bytes });
    }
    const open = text.indexOf("@@", done);
    this.#rest = open >= 0 && text.length - open < LONGEST ? Buffer.from(text.slice(open), "latin1") : Buffer.alloc(0);
  }
}
