import xterm from "@xterm/headless";
import type { Moved } from "./tmux-erasing.ts";
import { applyTmuxSemantics } from "./tmux-semantics.ts";
import { TMUX_WIDTHS, TmuxWidths } from "./tmux-widths.ts";

export type TmuxTerminal = InstanceType<typeof xterm.Terminal>;

export interface TmuxTerminalOptions {
  readonly cols: number;
  readonly rows: number;
  /** Rows of history; there is one at least. */
  readonly scrollback: number;
}

/** Without a history the emulator loses count of its rows when wrapped lines become narrower. */
const MIN_SCROLLBACK = 1;

/** An emulator that makes of what a program prints what tmux makes of it. `moved` is as in `applyTmuxSemantics`. */
export function tmuxTerminal(options: TmuxTerminalOptions, moved?: Moved): TmuxTerminal {
  const scrollback = Math.max(options.scrollback, MIN_SCROLLBACK);
  const terminal = new xterm.Terminal({
    ...options,
    scrollback,
    reflowCursorLine: true,
    allowProposedApi: true,
    logLevel: "off",
  });
  terminal.unicode.register(new TmuxWidths());
  terminal.unicode.activeVersion = TMUX_WIDTHS;
  applyTmuxSemantics(terminal, moved);
  return terminal;
}
