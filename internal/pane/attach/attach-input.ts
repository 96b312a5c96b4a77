const PASTE_BEGIN = Buffer.from("\x1b[200~");
const PASTE_END = Buffer.from("\x1b[201~");
/** A longer paste is delivered as several. @internal */
export const PASTE_MAX_BYTES = 256 * 1024;

/** A piece of a person's input, by the way in which it is written to the pane. */
export type KeyPiece =
  | { readonly type: "keys"; readonly data: Buffer }
  /** The text between paste brackets; tmux adds the brackets, because it knows whether the program requested them. */
  | { readonly type: "paste"; readonly text: string };

/**
 * Splits the bytes of one terminal into keys and pastes, wherever they were cut. A key sequence that ends inside a
 * paste bracket is held back until the next bytes or `flush`.
 */
export class AttachInputParser {
  #rest: Buffer = Buffer.alloc(0);
  #isPasting = false;

  /** A paste, or the possible beginning of one, has not ended. */
  get isWaiting(): boolean {
    return this.#isPasting || this.#rest.length > 0;
  }

  get isPasting(): boolean {
    return this.#isPasting;
  }

  push(data: Uint8Array): readonly KeyPiece[] {
    this.#rest = this.#rest.length === 0 ? Buffer.from(data) : Buffer.concat([this.#rest, data]);
    const pieces: KeyPiece[] = [];
    for (;;) {
      const bracket = this.#isPasting ? PASTE_END : PASTE_BEGIN;
      const at = this.#rest.indexOf(bracket);
      if (at < 0) break;
      pieces.push(...this.#piece(this.#rest.subarray(0, at)));
      this.#rest = this.#rest.subarray(at + bracket.length);
      this.#isPasting = !this.#isPasting;
    }
    if (!this.#isPasting) {
      const keep = beginningOf(PASTE_BEGIN, this.#rest);
      pieces.push(...this.#piece(this.#rest.subarray(0, this.#rest.length - keep)));
      this.#rest = this.#rest.subarray(this.#rest.length - keep);
    } else if (this.#rest.length > PASTE_MAX_BYTES) {
      const end = wholeCharacters(this.#rest.subarray(0, PASTE_MAX_BYTES));
      pieces.push(...this.#piece(this.#rest.subarray(0, end)));
      this.#rest = this.#rest.subarray(end);
    }
    return pieces;
  }

  /** Call it after a pause: bytes held back are taken literally. */
  flush(): readonly KeyPiece[] {
    const pieces = this.#piece(this.#rest);
    this.#rest = Buffer.alloc(0);
    this.#isPasting = false;
    return pieces;
  }

  #piece(data: Buffer): readonly KeyPiece[] {
    if (data.length === 0) return [];
    if (!this.#isPasting) return [{ type: "keys", data }];
    const text = data.toString("utf8").replaceAll("\0", "");
    return text === "" ? [] : [{ type: "paste", text }];
  }
}

/** How many bytes at the end of `data` may be the beginning of `bracket`. A lone ESC is a key of its own. */
function beginningOf(bracket: Buffer, data: Buffer): number {
  for (let length = Math.min(bracket.length - 1, data.length); length > 1; length--) {
    if (data.subarray(data.length - length).equals(bracket.subarray(0, length))) return length;
  }
  return 0;
}

/** Length of `data` without a character that is cut at its end. */
function wholeCharacters(data: Buffer): number {
  for (let back = 1; back <= 3 && back < data.length; back++) {
    const byte = data[data.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const wanted = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return wanted > back ? data.length - back : data.length;
  }
  return data.length;
}

const REPORTS = /\x1b\[<[\d;]*[Mm]|\x1b\[M[\s\S]{3}|\x1b\[[IO]|\x1b\[\?[\d;]*c/g;

/** True if the keys show that a person types: reports of mouse and focus do not. */
export function isTyping(data: Uint8Array): boolean {
  return Buffer.from(data).toString("latin1").replace(REPORTS, "") !== "";
}

/** True if the person's last key was Enter: they wait for the agent now. */
export function endsLine(data: Uint8Array): boolean {
  return data.at(-1) === 0x0d;
}
