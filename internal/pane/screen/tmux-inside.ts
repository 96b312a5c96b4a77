import type { IParser } from "@xterm/headless";

/** A line of the emulator's buffer. */
export interface InsideLine {
  /** Three words a cell: character, foreground, background. */
  readonly _data: Uint32Array;
  isWrapped: boolean;
  getTrimmedLength(): number;
  getString(x: number): string;
  /** Adds a character to a cell that already has one. It is replaced on the prototype, and thus for all lines. */
  addCodepointToCell(x: number, codePoint: number, width: number): void;
  clone(): InsideLine;
}

export interface InsideBuffer {
  x: number;
  y: number;
  ybase: number;
  ydisp: number;
  scrollTop: number;
  scrollBottom: number;
  readonly lines: {
    readonly isFull: boolean;
    get(index: number): InsideLine | undefined;
    splice(start: number, deleted: number, ...inserted: readonly InsideLine[]): void;
  };
  tabs: object;
  setupTabStops(): void;
}

/** The style of the next printed character. */
export interface Pen {
  fg: number;
  bg: number;
  clone(): Pen;
}

interface Params {
  readonly params: readonly number[];
  readonly length: number;
}

type Act = (params: Params) => boolean;

/**
 * The emulator's internals, as far as its public interface cannot do what tmux does. The names are those of the pinned
 * version; tests check each use.
 */
export interface Inside {
  readonly buffer: InsideBuffer;
  readonly buffers: { readonly normal: InsideBuffer };
  readonly cols: number;
  readonly rows: number;
  readonly _bufferService: { scroll(erase: Pen, isWrapped?: boolean): void };
  readonly coreService: { readonly decPrivateModes: { origin: boolean; readonly wraparound: boolean }; reset(): void };
  readonly coreMouseService: { reset(): void };
  readonly _charsetService: {
    readonly glevel: number;
    readonly _charsets: readonly (object | undefined)[];
    setgCharset(g: number, charset: object | undefined): void;
    setgLevel(level: number): void;
    reset(): void;
  };
  readonly _inputHandler: {
    _curAttrData: Pen;
    _eraseAttrData(): Pen;
    _moveCursor(x: number, y: number): void;
    print(data: Uint32Array, start: number, end: number): void;
    backspace(): boolean;
    lineFeed(): boolean;
    index(): boolean;
    reverseIndex(): boolean;
    readonly cursorForwardTab: Act;
    readonly cursorBackwardTab: Act;
    readonly insertLines: Act;
    readonly deleteLines: Act;
    readonly insertChars: Act;
    readonly deleteChars: Act;
    readonly eraseChars: Act;
    readonly eraseInDisplay: Act;
    readonly setScrollRegion: Act;
    readonly repeatPrecedingCharacter: Act;
    readonly setModePrivate: Act;
    readonly resetModePrivate: Act;
  };
}

export type ActName = {
  [K in keyof Inside["_inputHandler"]]: Inside["_inputHandler"][K] extends Act ? K : never;
}[keyof Inside["_inputHandler"]];

/** The part of the emulator's terminal that is needed. */
export interface Habitual {
  readonly parser: IParser;
  readonly buffer: {
    readonly active: { readonly type: "normal" | "alternate" };
    readonly normal: { readonly cursorX: number; readonly cursorY: number };
  };
}

export function insideOf(terminal: Habitual): Inside {
  return (terminal as unknown as { readonly _core: Inside })._core;
}

/** Performs the emulator's own action for a sequence with these numbers. */
export function act({ _inputHandler }: Inside, name: ActName, ...numbers: readonly number[]): void {
  _inputHandler[name]({ params: numbers, length: numbers.length });
}

/** The n-th number of a sequence; 1 if that number is 0 or missing. */
export function count(params: readonly (number | number[])[], n = 0): number {
  const param = params[n];
  return typeof param === "number" && param > 0 ? param : 1;
}

/** Ignores sub-parameters. */
export function numbersOf(params: readonly (number | number[])[]): readonly number[] {
  return params.map((param) => (typeof param === "number" ? param : 0));
}

/** Runs `fn` as if every row scrolled. */
export function inWholeScreen(inside: Inside, fn: () => void): void {
  const { buffer } = inside;
  const { scrollTop, scrollBottom } = buffer;
  [buffer.scrollTop, buffer.scrollBottom] = [0, inside.rows - 1];
  fn();
  [buffer.scrollTop, buffer.scrollBottom] = [scrollTop, scrollBottom];
}

/** Runs `fn` as if places counted from the screen's first row. */
export function withoutOrigin({ coreService: { decPrivateModes } }: Inside, fn: () => void): void {
  const { origin } = decPrivateModes;
  decPrivateModes.origin = false;
  fn();
  decPrivateModes.origin = origin;
}
