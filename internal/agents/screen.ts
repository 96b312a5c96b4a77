/** A stretch of cells with the same style. */
export interface ScreenRun {
  readonly text: string;
  readonly bold: boolean;
  readonly dim: boolean;
  readonly inverse: boolean;
  /** `default`, a palette number `0`…`255`, or `#rrggbb`. */
  readonly fg: string;
}

export interface ScreenLine {
  /** The row's text without trailing blanks. A wide character takes one place here and two columns on the screen. */
  readonly text: string;
  readonly runs: readonly ScreenRun[];
  /** True when this row continues from the row above without a line break. */
  readonly wrapped: boolean;
}

/** One terminal screen as plain data; rows and columns count from 0 at the top left. */
export interface Screen {
  readonly cols: number;
  readonly rows: number;
  /** Exactly `rows` lines. */
  readonly lines: readonly ScreenLine[];
  readonly cursorX: number;
  readonly cursorY: number;
  readonly alternate: boolean;
  readonly bracketedPaste: boolean;
  readonly title: string;
}
