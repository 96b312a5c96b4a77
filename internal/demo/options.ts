/** Faults that the demo agent simulates, to test how a sender copes. Durations are milliseconds. */
export interface Faults {
  /** The first Enter on every draft does nothing. */
  readonly dropFirstEnter: boolean;
  /** Everything typed or pasted takes effect only after this time. */
  readonly echoDelayMs: number;
  /** Bracketed paste is never switched on; a burst with line ends in it is text, as in Ink programs. */
  readonly noBracketedPaste: boolean;
  /** Between two steps of a turn the screen looks idle for this long. */
  readonly flickerIdleMs: number;
  /** A message that contains this text ends the program with `exitCode`. Empty: never. */
  readonly exitOn: string;
  readonly exitCode: number;
  /** A message that contains this text makes the program stop reading and redrawing forever. Empty: never. */
  readonly hangOn: string;
  /** Enter within this time after a paste is a line break. */
  readonly eatEnterAfterPasteMs: number;
  /** A permission dialog opens right after a paste is shown. */
  readonly openDialogOnPaste: boolean;
  /** A clock redraws forever, even while idle. */
  readonly spinnerAlways: boolean;
  /** Start-up takes this long; an Enter pressed meanwhile is lost. */
  readonly slowStartMs: number;
  /** Prints lines that look like tmux control replies, and stray escape sequences. */
  readonly garbage: boolean;
  /** Every drawing stays half-done for this long, cut at any place. */
  readonly tornDrawingMs: number;
}

export const noFaults: Faults = {
  dropFirstEnter: false,
  echoDelayMs: 0,
  noBracketedPaste: false,
  flickerIdleMs: 0,
  exitOn: "",
  exitCode: 0,
  hangOn: "",
  eatEnterAfterPasteMs: 0,
  openDialogOnPaste: false,
  spinnerAlways: false,
  slowStartMs: 0,
  garbage: false,
  tornDrawingMs: 0,
};

export interface DemoOptions {
  /** The same seed gives the same steps and answers. */
  readonly seed: number;
  /** How long a turn takes, not counting dialogs. */
  readonly turnMs: number;
  /** Tool steps in a turn. */
  readonly steps: number;
  readonly alternateScreen: boolean;
  readonly trustDialog: boolean;
  readonly faults: Faults;
}
