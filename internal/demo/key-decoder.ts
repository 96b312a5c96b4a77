import { StringDecoder } from "node:string_decoder";

export type KeyName =
  | "enter"
  | "newline"
  | "escape"
  | "backspace"
  | "delete"
  | "left"
  | "right"
  | "up"
  | "down"
  | "home"
  | "end"
  | "kill-line"
  | "kill-to-end"
  | "kill-word"
  | "interrupt"
  | "end-of-input"
  | "redraw";

/** One action of a person, or of a terminal on a person's behalf. */
export type Key =
  | { readonly type: "key"; readonly name: KeyName }
  /** Characters typed one after the other; several when they came in one burst. */
  | { readonly type: "text"; readonly text: string }
  /** Inside a bracketed paste; lines end with LF. */
  | { readonly type: "paste"; readonly text: string };

const PASTE_START = "\x1b[200~";
const PASTE_END = "\x1b[201~";
/** A longer paste is cut: the rest, up to the paste's end mark, is dropped. UTF-16 units. */
const PASTE_LIMIT = 1 << 20;

const CONTROL_KEYS: Readonly<Record<string, KeyName>> = {
  "\r": "enter",
  "\n": "newline",
  "\x7f": "backspace",
  "\b": "backspace",
  "\x01": "home",
  "\x02": "left",
  "\x03": "interrupt",
  "\x04": "end-of-input",
  "\x05": "end",
  "\x06": "right",
  "\x0b": "kill-to-end",
  "\x0c": "redraw",
  "\x15": "kill-line",
  "\x17": "kill-word",
};

const CSI_KEYS: Readonly<Record<string, KeyName>> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  F: "end",
  H: "home",
  "1~": "home",
  "3~": "delete",
  "4~": "end",
  "7~": "home",
  "8~": "end",
};

const CSI = /^\x1b\[([0-?]*)([ -/]*)([@-~])/;
const CSI_BEGUN = /^\x1b\[[0-?]*[ -/]*$/;

/**
 * Decodes the bytes of a terminal into keys. Bytes may be split anywhere, inside a character or an escape sequence too.
 * A lone ESC stays `pending` until more bytes come or the caller decides with `flush` that it was the Escape key.
 */
export class KeyDecoder {
  readonly #utf8 = new StringDecoder("utf8");
  readonly #bursts: boolean;
  #rest = "";
  #paste: string | undefined;

  /** `bursts`: a chunk that contains text and line ends counts as typed text with line breaks, never as a submit. */
  constructor(options: { readonly bursts: boolean }) {
    this.#bursts = options.bursts;
  }

  /** True while an escape sequence, or a lone ESC, is unfinished. A paste that has not ended does not count. */
  get pending(): boolean {
    return this.#paste === undefined && this.#rest !== "";
  }

  push(bytes: Uint8Array): Key[] {
    const chunk = this.#utf8.write(Buffer.from(bytes));
    if (this.#bursts && this.#rest === "" && isBurst(chunk)) return [{ type: "text", text: lineFeeds(chunk) }];
    this.#rest += chunk;
    return this.#drain(false);
  }

  /** Ends what is pending: a lone ESC becomes the Escape key, and half a sequence is dropped. */
  flush(): Key[] {
    return this.#drain(true);
  }

  #drain(flush: boolean): Key[] {
    const keys: Key[] = [];
    while (this.#rest !== "") {
      const before = this.#rest.length;
      const key = this.#paste === undefined ? this.#next(flush) : this.#inPaste();
      if (key !== undefined) append(keys, key);
      else if (this.#rest.length === before) break;
    }
    return keys;
  }

  #inPaste(): Key | undefined {
    const end = this.#rest.indexOf(PASTE_END);
    const keep = end < 0 ? Math.max(0, this.#rest.length - PASTE_END.length + 1) : end;
    this.#paste = ((this.#paste ?? "") + this.#rest.slice(0, keep)).slice(0, PASTE_LIMIT);
    this.#rest = this.#rest.slice(keep);
    if (end < 0) return undefined;
    const text = lineFeeds(this.#paste);
    this.#paste = undefined;
    this.#rest = this.#rest.slice(PASTE_END.length);
    return { type: "paste", text };
  }

  #next(flush: boolean): Key | undefined {
    if (this.#rest.startsWith("\x1b")) return this.#escape(flush);
    const text = /^[^\x00-\x1f\x7f]+/.exec(this.#rest)?.[0];
    if (text !== undefined) {
      this.#rest = this.#rest.slice(text.length);
      return { type: "text", text };
    }
    const name = CONTROL_KEYS[this.#rest[0] ?? ""];
    this.#rest = this.#rest.slice(1);
    return name === undefined ? undefined : { type: "key", name };
  }

  #escape(flush: boolean): Key | undefined {
    if (this.#rest.startsWith(PASTE_START)) {
      this.#rest = this.#rest.slice(PASTE_START.length);
      this.#paste = "";
      return undefined;
    }
    const csi = CSI.exec(this.#rest);
    if (csi) {
      this.#rest = this.#rest.slice(csi[0].length);
      return csiKey(csi[1] ?? "", csi[3] ?? "");
    }
    if (!flush && (CSI_BEGUN.test(this.#rest) || /^\x1bO?$/.test(this.#rest))) return undefined;
    return this.#shortEscape();
  }

  /** Decodes `ESC O x` (application cursor keys), Alt-Enter, and everything else that begins with ESC. */
  #shortEscape(): Key | undefined {
    const second = this.#rest[1];
    if (second === "O" && this.#rest.length > 2) {
      const name = CSI_KEYS[this.#rest[2] ?? ""];
      this.#rest = this.#rest.slice(3);
      return name === undefined ? undefined : { type: "key", name };
    }
    if (second === "\r" || second === "\n") {
      this.#rest = this.#rest.slice(2);
      return { type: "key", name: "newline" };
    }
    const dropped = second === "[" || second === "O";
    this.#rest = dropped ? "" : this.#rest.slice(1);
    return dropped ? undefined : { type: "key", name: "escape" };
  }
}

function csiKey(parameters: string, final: string): Key | undefined {
  const number = /^\d*/.exec(parameters)?.[0] ?? "";
  if (final === "u") return number === "13" ? { type: "key", name: "newline" } : undefined;
  const name = CSI_KEYS[final === "~" ? `${number}~` : final];
  return name === undefined ? undefined : { type: "key", name };
}

/** Typed text that came in one piece stays one key. */
function append(keys: Key[], key: Key): void {
  const last = keys.at(-1);
  if (last?.type === "text" && key.type === "text")
    keys[keys.length - 1] = { type: "text", text: last.text + key.text };
  else keys.push(key);
}

function isBurst(chunk: string): boolean {
  return chunk.length > 1 && /[\r\n]/.test(chunk) && !/[\x00-\x09\x0b\x0c\x0e-\x1f\x7f]/.test(chunk);
}

function lineFeeds(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}
