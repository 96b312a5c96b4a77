import type { DetachKeys } from "./detach-keys.ts";

/** The offset of the window on the person's terminal, its size, and its mouse mode. */
export interface KeyView {
  readonly x: number;
  readonly y: number;
  readonly cols: number;
  readonly rows: number;
  readonly sgrMouse: boolean;
}

const PASTE_BEGIN = "\x1b[200~";
const PASTE_END = "\x1b[201~";
/**
 * Sequences that a person's terminal writes in addition to plain keys: paste brackets; mouse reports; Home and End as
 * terminals other than tmux write them; focus reports; and unsolicited replies about attributes, modes, colours and
 * strings.
 */
const TOKENS =
  /\x1b\[20[01]~|\x1b\[<(\d{1,5});(\d{1,5});(\d{1,5})([Mm])|\x1b[[O]([HF])|\x1b\[[IO]|\x1b\[[?>=][\d;]*(?:\$y|[cnuS])|\x1b[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)/g;
/** The beginning of such a sequence at the end of the input. A lone ESC is a key. */
const BEGINNING = /\x1b(?:\[(?:[<?>=]?[\d;]*\$?)?|O|[\]P_^X][^\x07\x1b]{0,4096}\x1b?)$/;
const PASTE_BEGINNING = /\x1b(?:\[(?:2(?:0(?:1)?)?)?)?$/;

/**
 * Parses the input from a person's terminal, however it is split, into the bytes for the agent and the request to
 * detach. Mouse reports are translated to the window's coordinates and to the encoding that its program wants; reports
 * from outside the window are dropped.
 */
export class PersonKeys {
  readonly #detach: Buffer;
  #rest = "";
  #isPasting = false;
  /** The number of detach keys pressed so far. */
  #pressed = 0;

  constructor(detach: DetachKeys) {
    this.#detach = detach.bytes;
  }

  /** Input is held back until more arrives: call `flush` in a moment. */
  get isHolding(): boolean {
    return this.#rest !== "";
  }

  push(data: Uint8Array, view: KeyView): { readonly data: Buffer; readonly detach: boolean } {
    const text = this.#rest + Buffer.from(data).toString("latin1");
    const held = (this.#isPasting ? PASTE_BEGINNING : BEGINNING).exec(text);
    const isKey = held !== null && held[0] === "\x1b" && !this.#isPasting;
    const end = held === null || isKey ? text.length : held.index;
    this.#rest = text.slice(end);
    return this.#translate(text.slice(0, end), view);
  }

  flush(): Buffer {
    const rest = Buffer.from(this.#rest, "latin1");
    this.#rest = "";
    return rest;
  }

  #translate(text: string, view: KeyView): { readonly data: Buffer; readonly detach: boolean } {
    let out = "";
    let at = 0;
    for (const match of text.matchAll(TOKENS)) {
      const keys = this.#keys(text.slice(at, match.index));
      out += keys.text;
      if (keys.detach) return { data: Buffer.from(out, "latin1"), detach: true };
      at = match.index + match[0].length;
      out += this.#isPasting && match[0] !== PASTE_END ? match[0] : this.#token(match, view);
    }
    const keys = this.#keys(text.slice(at));
    return { data: Buffer.from(out + keys.text, "latin1"), detach: keys.detach };
  }

  #token(match: RegExpExecArray, view: KeyView): string {
    const [token, button, x, y, end, homeOrEnd] = match;
    if (token === PASTE_BEGIN || token === PASTE_END) {
      this.#isPasting = token === PASTE_BEGIN;
      return token;
    }
    if (homeOrEnd !== undefined) return homeOrEnd === "H" ? "\x1b[1~" : "\x1b[4~";
    if (button === undefined) return "";
    return mouseReport(Number(button), Number(x) + view.x, Number(y) + view.y, end === "m", view);
  }

  /**
   * Looks for the detach keys among plain keys. All but the last of them go to the agent if the last one does not
   * follow.
   */
  #keys(text: string): { readonly text: string; readonly detach: boolean } {
    if (this.#isPasting || text === "") return { text, detach: false };
    let out = "";
    for (const char of text) {
      const code = char.charCodeAt(0);
      if (code !== this.#detach[this.#pressed]) {
        out += this.#detach.toString("latin1", 0, this.#pressed);
        this.#pressed = 0;
      }
      if (code !== this.#detach[this.#pressed]) {
        out += char;
        continue;
      }
      this.#pressed++;
      if (this.#pressed < this.#detach.length) continue;
      this.#pressed = 0;
      return { text: out, detach: true };
    }
    return { text: out, detach: false };
  }
}

/** Columns and rows count from 1. */
function mouseReport(button: number, x: number, y: number, isRelease: boolean, view: KeyView): string {
  if (x > view.cols || y > view.rows) return "";
  if (view.sgrMouse) return `\x1b[<${button};${x};${y}${isRelease ? "m" : "M"}`;
  if (x > 223 || y > 223 || button > 223) return "";
  const code = isRelease ? (button & ~3) | 3 : button;
  return `\x1b[M${String.fromCharCode(32 + code, 32 + x, 32 + y)}`;
}
