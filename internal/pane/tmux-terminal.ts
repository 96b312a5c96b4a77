import xterm from "@xterm/headless";
import type { Moved } from "./tmux-erasing.ts";
import { learnTmuxHabits } from "./tmux-habits.ts";
import { TMUX_WIDTHS, TmuxWidths } from "./tmux-widths.ts";

export type TmuxTerminal = InstanceType<typeof xterm.Terminal>;

export interface TmuxTerminalOptions {
  readonly cols: number;
  readonly rows: number;
  /** Rows of history. */
  readonly scrollback: number;
}

/** An emulator that makes of what a program prints what tmux makes of it. `moved` is as in `learnTmuxHabits`. */
export function tmuxTerminal({ cols, rows, scrollback }: TmuxTerminalOptions, moved?: Moved): TmuxTerminal {
  const terminal = new xterm.Terminal({ cols, rows, scrollback, allowProposedApi: true, logLevel: "off" });
  terminal.unicode.register(new TmuxWidths());
  terminal.unicode.activeVersion = TMUX_WIDTHS;
  learnTmuxHabits(terminal, moved);
  return terminal;
}
