import xterm from "@xterm/headless";
import type { Moved } from "./tmux-erasing.ts";
import { type Habitual, type InsideLine, insideOf } from "./tmux-inside.ts";
import { applyTmuxSemantics } from "./tmux-semantics.ts";
import { TMUX_WIDTHS, TmuxWidths } from "./tmux-widths.ts";

export type TmuxTerminal = InstanceType<typeof xterm.Terminal>;

export interface TmuxTerminalOptions {
  readonly cols: number;
  readonly rows: number;
  /** Rows of history; at least one is kept. */
  readonly scrollback: number;
}

/** Without a history the emulator loses count of its rows when wrapped lines become narrower. */
const MIN_SCROLLBACK = 1;

/** More UTF-16 units than any flag or family of people has. tmux takes 21 bytes and drops the rest. */
const CELL_MAX = 64;

const bounded = new WeakSet<object>();

/** An emulator that interprets a program's output as tmux does. `moved` is as in `applyTmuxSemantics`. */
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
  boundCells(terminal);
  return terminal;
}

/** A cell accepts a limited number of combining characters, because a program can print them endlessly. */
function boundCells(terminal: Habitual): void {
  const lines: InsideLine | null = Object.getPrototypeOf(insideOf(terminal).buffer.lines.get(0));
  if (lines === null || bounded.has(lines)) return; // all emulators share the prototype
  bounded.add(lines);
  const add = lines.addCodepointToCell;
  lines.addCodepointToCell = function (this: InsideLine, x: number, codePoint: number, width: number) {
    if (this.getString(x).length < CELL_MAX) add.call(this, x, codePoint, width);
  };
}
