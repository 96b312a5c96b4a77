import type { IModes, IParser } from "@xterm/headless";

/** The part of the emulator's terminal that is needed. */
export interface ModedTerminal {
  readonly parser: IParser;
  readonly rows: number;
  readonly modes: IModes;
}

const MOUSE = { none: "", x10: "\x1b[?9h", vt200: "\x1b[?1000h", drag: "\x1b[?1002h", any: "\x1b[?1003h" } as const;

type Encoding = "1005" | "1006" | "1015" | "1016";
interface Region {
  readonly top: number;
  readonly bottom: number;
}

const ENCODINGS: ReadonlySet<unknown> = new Set(["1005", "1006", "1015", "1016"] satisfies Encoding[]);

/**
 * The modes that a program set in its terminal and that the emulator does not expose: whether and how the cursor shows,
 * how mouse reports are written, which rows scroll. Listens to the emulator's parser.
 */
export class TerminalModes {
  readonly #terminal: ModedTerminal;
  #cursorHidden = false;
  /** As DECSCUSR: 0 is the terminal's own. */
  #cursorStyle = 0;
  #mouseEncoding: Encoding | undefined;
  /** undefined: every row scrolls. */
  #region: Region | undefined;

  constructor(terminal: ModedTerminal) {
    this.#terminal = terminal;
    const { parser } = terminal;
    parser.registerCsiHandler({ prefix: "?", final: "h" }, (params) => this.#set(params, true));
    parser.registerCsiHandler({ prefix: "?", final: "l" }, (params) => this.#set(params, false));
    parser.registerCsiHandler({ intermediates: " ", final: "q" }, ([style]) => this.#style(style));
    parser.registerCsiHandler({ final: "r" }, ([top, bottom]) => this.#scrolls(top, bottom));
    parser.registerCsiHandler({ intermediates: "!", final: "p" }, () => {
      this.#cursorHidden = false;
      this.#region = undefined;
      return false;
    });
    parser.registerEscHandler({ final: "c" }, () => {
      this.reset();
      return false;
    });
  }

  get cursorHidden(): boolean {
    return this.#cursorHidden;
  }

  /** As DECSCUSR: 1 to 6, or 0 for the terminal's own. */
  get cursorStyle(): number {
    return this.#cursorStyle;
  }

  /** Whether mouse reports are written as SGR (1006). */
  get sgrMouse(): boolean {
    return this.#mouseEncoding === "1006";
  }

  /** Call it when the terminal is reset by anything other than its input. */
  reset(): void {
    this.#cursorHidden = false;
    this.#cursorStyle = 0;
    this.#mouseEncoding = undefined;
    this.#region = undefined;
  }

  /** Call it when the terminal's size has changed: every row scrolls then. */
  resized(): void {
    this.#region = undefined;
  }

  /** The first row that scrolls, from 0. */
  get scrollTop(): number {
    return (this.#region?.top ?? 1) - 1;
  }

  /** Bytes that set a fresh terminal to the same modes; the cursor may be elsewhere after them. */
  sequence(): string {
    const { modes } = this.#terminal;
    return [
      this.#region === undefined ? "" : `\x1b[${this.#region.top};${this.#region.bottom}r`,
      modes.originMode ? "\x1b[?6h" : "",
      modes.insertMode ? "\x1b[4h" : "",
      modes.wraparoundMode ? "" : "\x1b[?7l",
      modes.reverseWraparoundMode ? "\x1b[?45h" : "",
      modes.applicationCursorKeysMode ? "\x1b[?1h" : "",
      modes.applicationKeypadMode ? "\x1b=" : "",
      MOUSE[modes.mouseTrackingMode],
      this.#mouseEncoding === undefined ? "" : `\x1b[?${this.#mouseEncoding}h`,
      modes.sendFocusMode ? "\x1b[?1004h" : "",
      modes.bracketedPasteMode ? "\x1b[?2004h" : "",
      this.#cursorStyle === 0 ? "" : `\x1b[${this.#cursorStyle} q`,
      this.#cursorHidden ? "\x1b[?25l" : "",
    ].join("");
  }

  #set(params: readonly (number | number[])[], on: boolean): boolean {
    for (const param of params) {
      if (param === 25) this.#cursorHidden = !on;
      const mode = String(param);
      if (isEncoding(mode)) {
        if (on) this.#mouseEncoding = mode;
        else if (this.#mouseEncoding === mode) this.#mouseEncoding = undefined;
      }
    }
    return false;
  }

  #style(style: number | number[] | undefined): boolean {
    if (typeof style === "number" && style <= 6) this.#cursorStyle = style;
    return false;
  }

  #scrolls(first: number | number[] | undefined, last: number | number[] | undefined): boolean {
    const { rows } = this.#terminal;
    const top = typeof first === "number" && first > 0 ? first : 1;
    const bottom = typeof last === "number" && last > 0 ? Math.min(last, rows) : rows;
    if (bottom <= top) return false; // no region: ignored by terminals
    this.#region = top === 1 && bottom === rows ? undefined : { top, bottom };
    return false;
  }
}

function isEncoding(mode: string): mode is Encoding {
  return ENCODINGS.has(mode);
}
