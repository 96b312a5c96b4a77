import { DomainError } from "../base/errors.ts";

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * Parses a list from the API server as JSON.parse does, with each item replaced by `keep(item)`. At most one whole item
 * is in memory at a time, so a page of large objects needs little more memory than what is kept of them.
 * @throws SyntaxError for text that is not JSON or ends early; DomainError `exhausted` if an item, the text before the
 * first one or the text after the last one has more than `maxBytes`; `unavailable` if there is a second array beside
 * the items, that is, if the response is not a list
 */
export async function readList(
  chunks: AsyncIterable<Uint8Array>,
  keep: (item: unknown) => unknown,
  maxBytes: number,
): Promise<unknown> {
  const [marks, part, items] = [new ItemMarks(), new PartText(maxBytes), [] as unknown[]];
  let frame = "";
  for await (const chunk of chunks) {
    let start = 0;
    for (let at = marks.next(chunk, 0); at < chunk.length; at = marks.next(chunk, at + 1)) {
      const isOpening = chunk[at] === OPEN_ARRAY;
      const text = part.end(chunk.subarray(start, isOpening ? at + 1 : at));
      start = isOpening || chunk[at] === COMMA ? at + 1 : at;
      if (isOpening && frame !== "") throw new DomainError("unavailable", "the response has more than one array");
      if (isOpening) frame = text;
      else if (chunk[at] === COMMA || items.length > 0 || text.trim() !== "") items.push(keep(JSON.parse(text)));
    }
    part.add(chunk.subarray(start));
  }
  const list = JSON.parse(frame + part.end()) as { readonly items?: unknown } | null;
  return Array.isArray(list?.items) ? { ...list, items } : list;
}

/** Finds the boundaries of items, skipping strings. Assumes that the list has one array among its members. */
class ItemMarks {
  #depth = 0;
  #inItems = false;
  #inString = false;
  #isEscaped = false;

  /**
   * Index of the next mark: the `[` before the items, a comma between two, or the `]` after them; the length if none.
   */
  next(chunk: Uint8Array, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at];
      if (this.#inString) at = this.#endOfString(chunk, at);
      else if (byte === QUOTE) this.#inString = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        if (++this.#depth === 2 && byte === OPEN_ARRAY) return this.#mark(at, true);
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        if (this.#depth-- === 2 && this.#inItems) return this.#mark(at, false);
      } else if (byte === COMMA && this.#inItems && this.#depth === 2) return at;
    }
    return chunk.length;
  }

  #mark(at: number, inItems: boolean): number {
    this.#inItems = inItems;
    return at;
  }

  #endOfString(chunk: Uint8Array, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (chunk[at] === BACKSLASH) this.#isEscaped = true;
      else if (chunk[at] === QUOTE) {
        this.#inString = false;
        return at;
      }
    }
    return chunk.length;
  }
}

/** Collects the text of a part from several chunks. */
class PartText {
  readonly #maxBytes: number;
  #held: Uint8Array[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(bytes: Uint8Array): void {
    if (bytes.length > 0) this.#held.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes > this.#maxBytes) {
      throw new DomainError("exhausted", `an item of a list has more than ${this.#maxBytes} bytes`);
    }
  }

  /** Returns the part, ending with these bytes, and begins the next one. */
  end(bytes: Uint8Array = new Uint8Array()): string {
    this.add(bytes);
    const text = Buffer.concat(this.#held).toString("utf8");
    [this.#held, this.#bytes] = [[], 0];
    return text;
  }
}
