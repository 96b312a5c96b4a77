import { ByteHold } from "./byte-hold.ts";

/** One reply: everything between a `%begin` and the `%end` or `%error` with the very same time, number and flags. */
export interface ControlBlock {
  readonly type: "block";
  /** Seconds since 1970, as tmux wrote it. */
  readonly time: number;
  /** Counter of the whole server, not of this client. */
  readonly number: number;
  /** Bit 0: the command came from this client's stdin. */
  readonly flags: number;
  /** True if `%end` closed the block, false if `%error` did. */
  readonly ok: boolean;
  /** The body as UTF-8 text, one entry per line; invalid bytes become U+FFFD. */
  readonly body: readonly string[];
  /** The body in its original bytes, each line with its LF. */
  readonly bytes: Uint8Array;
  /** The body went over the limit and was dropped: `body` and `bytes` are empty. */
  readonly truncated: boolean;
}

export type ControlEvent =
  | ControlBlock
  /** A line `%name rest` outside of every block; `rest` is everything after the first blank. */
  | { readonly type: "notification"; readonly name: string; readonly rest: string }
  /** tmux detaches this client; the reason is empty if tmux gives none. */
  | { readonly type: "exit"; readonly reason: string }
  /** A line outside of every block that does not begin with `%`. */
  | { readonly type: "stray"; readonly line: string }
  /** A line or a body that exceeds its limit: reported once, as soon as it does. The part held so far is dropped. */
  | { readonly type: "overflow"; readonly part: "line" | "body"; readonly limitBytes: number };

export interface ControlParserOptions {
  /** Longest line outside a block, bytes. */
  readonly maxLineBytes: number;
  /** Longest body of a block, bytes. */
  readonly maxBodyBytes: number;
}

const LIMITS: ControlParserOptions = { maxLineBytes: 1 << 20, maxBodyBytes: 16 << 20 };
const LF = 0x0a;
const BEGIN = /^%begin (\d{1,20}) (\d{1,20}) (\d{1,10})$/;
const END = Buffer.from("%end");
const ERROR = Buffer.from("%error");

interface OpenBlock {
  readonly time: number;
  readonly number: number;
  readonly flags: number;
  /** ` T N F\n`, with which the closing line must end. */
  readonly tail: Buffer;
  /** The number of bytes of the body that have been searched and contain no complete closing line. */
  searched: number;
  truncated: boolean;
}

/**
 * Parses the bytes of a tmux control client into events; does no I/O. Inside a block only a whole line with the block's
 * own time, number and flags is special, so text printed in a pane cannot close it early. Bodies are searched, not
 * split into lines. Memory is bounded by the two limits.
 */
export class ControlParser {
  readonly #limits: ControlParserOptions;
  readonly #hold = new ByteHold();
  #open: OpenBlock | undefined;
  #skippingLine = false;

  constructor(options: Partial<ControlParserOptions> = {}) {
    this.#limits = { ...LIMITS, ...options };
  }

  /** True while a block is incomplete. */
  get inBlock(): boolean {
    return this.#open !== undefined;
  }

  /** Returns the events that this chunk completes, in order. The chunk may be reused afterwards. */
  push(chunk: Uint8Array): ControlEvent[] {
    const events: ControlEvent[] = [];
    const data = this.#hold.with(chunk);
    let at = 0;
    for (;;) {
      const next = this.#open ? this.#takeBody(this.#open, data, at, events) : this.#takeLine(data, at, events);
      if (next === undefined) break;
      at = next;
    }
    this.#hold.keep(data, this.#limit(data, at, events));
    return events;
  }

  /** Takes one line; returns the start of the next element, or undefined if the line is not complete. */
  #takeLine(data: Buffer, at: number, events: ControlEvent[]): number | undefined {
    const end = data.indexOf(LF, at);
    if (end < 0) return undefined;
    if (this.#skippingLine) this.#skippingLine = false;
    else this.#line(data.toString("utf8", at, end), events);
    return end + 1;
  }

  #line(line: string, events: ControlEvent[]): void {
    const begin = BEGIN.exec(line);
    if (begin) {
      const [, time = "", number = "", flags = ""] = begin;
      const tail = Buffer.from(` ${time} ${number} ${flags}\n`, "latin1");
      const ids = { time: Number(time), number: Number(number), flags: Number(flags) };
      this.#open = { ...ids, tail, searched: 0, truncated: false };
    } else if (!line.startsWith("%")) {
      events.push({ type: "stray", line });
    } else {
      const blank = line.indexOf(" ");
      const name = line.slice(1, blank < 0 ? undefined : blank);
      const rest = blank < 0 ? "" : line.slice(blank + 1);
      events.push(name === "exit" ? { type: "exit", reason: rest } : { type: "notification", name, rest });
    }
  }

  #takeBody(open: OpenBlock, data: Buffer, start: number, events: ControlEvent[]): number | undefined {
    let from = start + open.searched;
    for (;;) {
      const tail = data.indexOf(open.tail, from);
      if (tail < 0) break;
      for (const word of [END, ERROR]) {
        const guard = tail - word.length;
        if (!isWordAtLineStart(data, start, guard, word)) continue;
        events.push(closed(open, word === END, data.subarray(start, guard)));
        this.#open = undefined;
        return tail + open.tail.length;
      }
      from = tail + 1;
    }
    open.searched = Math.max(open.searched, data.length - start - open.tail.length + 1);
    return undefined;
  }

  /** Drops whatever exceeds a limit; returns the offset from which the bytes must be kept. */
  #limit(data: Buffer, at: number, events: ControlEvent[]): number {
    const held = data.length - at;
    const open = this.#open;
    if (!open) {
      if (!this.#skippingLine && held > this.#limits.maxLineBytes) {
        events.push({ type: "overflow", part: "line", limitBytes: this.#limits.maxLineBytes });
        this.#skippingLine = true;
      }
      return this.#skippingLine ? data.length : at;
    }
    if (!open.truncated && held > this.#limits.maxBodyBytes) {
      events.push({ type: "overflow", part: "body", limitBytes: this.#limits.maxBodyBytes });
      open.truncated = true;
    }
    if (!open.truncated) return at;
    // The search continues behind the part that has been searched, so the first kept byte is never taken for a line's
    // start.
    const keep = Math.max(at, data.length - open.tail.length - ERROR.length);
    open.searched = Math.max(0, open.searched - (keep - at));
    return keep;
  }
}

/** Whether `word` is at `at`, at the start of a line. `start`: the start of the body, which also starts a line. */
function isWordAtLineStart(data: Buffer, start: number, at: number, word: Buffer): boolean {
  if (at < start) return false;
  if (at > start && data[at - 1] !== LF) return false;
  return data.compare(word, 0, word.length, at, at + word.length) === 0;
}

function closed(open: OpenBlock, ok: boolean, body: Buffer): ControlBlock {
  const { time, number, flags, truncated } = open;
  const bytes = truncated ? new Uint8Array() : new Uint8Array(body);
  let lines: readonly string[] | undefined;
  return {
    type: "block",
    time,
    number,
    flags,
    ok,
    bytes,
    truncated,
    get body() {
      lines ??= toLines(bytes);
      return lines;
    },
  };
}

function toLines(bytes: Uint8Array): readonly string[] {
  if (bytes.length === 0) return [];
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length - 1)
    .toString("utf8")
    .split("\n");
}
