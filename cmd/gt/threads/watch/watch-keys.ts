type Named = "up" | "down" | "pageUp" | "pageDown" | "home" | "end" | "enter" | "escape" | "erase" | "quit";

/** A key, or a text, that the screen acts on. */
export type WatchKey =
  /** Typed: one or more characters. */
  | { readonly type: "text"; readonly text: string }
  /** Pasted: may contain line ends. */
  | { readonly type: "paste"; readonly text: string }
  | { readonly type: Named };

/** Sequences that turn the terminal's bracketed paste mode on and off. */
export const PASTES = { say: "\x1b[?2004h", silent: "\x1b[?2004l" } as const;

const BEGIN = "\x1b[200~";
const END = "\x1b[201~";
const SEQUENCES: Readonly<Record<string, Named>> = {
  ...{ "\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down", "\x1b[5~": "pageUp", "\x1b[6~": "pageDown" },
  ...{ "\x1b[H": "home", "\x1b[1~": "home", "\x1b[F": "end", "\x1b[4~": "end" },
  ...{ "\r": "enter", "\n": "enter", "\x1b": "escape", "\x7f": "erase", "\b": "erase", "\x03": "quit", "\x04": "quit" },
};
/** An escape sequence, whole or cut at the end; a control character; or a run of text. */
const TOKEN = /\x1b(?:\[[0-?]*[ -/]*[@-~]?|O.?)?|[\x00-\x1f\x7f-\x9f]|[^\x00-\x1f\x7f-\x9f]+/g;

/** Parses terminal input into keys. The input comes in parts; a paste may span several. */
export class KeyReader {
  /** The text so far of a paste that has not ended. */
  #pasted: string | undefined;

  read(input: string): readonly WatchKey[] {
    const keys: WatchKey[] = [];
    for (let rest = input; rest !== ""; ) {
      if (this.#pasted !== undefined) {
        // The end may come in two parts.
        const from = Math.max(0, this.#pasted.length - END.length);
        this.#pasted += rest;
        const end = this.#pasted.indexOf(END, from);
        if (end < 0) return keys;
        keys.push({ type: "paste", text: clean(this.#pasted.slice(0, end)) });
        rest = this.#pasted.slice(end + END.length);
        this.#pasted = undefined;
        continue;
      }
      const begin = rest.indexOf(BEGIN);
      for (const [token] of (begin < 0 ? rest : rest.slice(0, begin)).matchAll(TOKEN)) {
        const type = SEQUENCES[token];
        if (type !== undefined) keys.push({ type });
        else if (!/^[\x00-\x1f\x7f-\x9f]/.test(token)) keys.push({ type: "text", text: token });
      }
      if (begin < 0) return keys;
      this.#pasted = "";
      rest = rest.slice(begin + BEGIN.length);
    }
    return keys;
  }
}

function clean(text: string): string {
  return text
    .replace(/\r\n?/g, "\n")
    .replace(/\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?/g, "")
    .replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "");
}
