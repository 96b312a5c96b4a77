import { DomainError } from "../../base/errors.ts";
import { quoteArgument } from "./quote.ts";

/** The modes of the pane's terminal, as far as tmux reports them (bracketed paste from 3.7 on). */
export interface PaneModes {
  readonly cursorVisible: boolean;
  readonly insert: boolean;
  readonly cursorKeys: boolean;
  readonly keypad: boolean;
  readonly origin: boolean;
  readonly wrap: boolean;
  readonly mouse: "none" | "standard" | "button" | "all";
  readonly mouseSgr: boolean;
  readonly mouseUtf8: boolean;
  readonly bracketedPaste: boolean;
  /** First and last row that scroll, from 0. */
  readonly scrollTop: number;
  readonly scrollBottom: number;
  /** The cursor on the main screen while the alternate one is on. */
  readonly savedX: number;
  readonly savedY: number;
}

/** The server's facts about a pane at one moment. */
export interface PaneFacts {
  /** True if the pane's command has ended. */
  readonly dead: boolean;
  /**
   * The command's exit code; absent while the command runs, if a signal ended it, or if tmux missed its end
   * (`recoverDeadStatus`).
   */
  readonly deadStatus?: number | undefined;
  /** The number of the signal that ended the command. Absent on tmux older than 3.3. */
  readonly deadSignal?: number | undefined;
  readonly alternate: boolean;
  /** The last process started in the pane, even after its end. */
  readonly pid: number;
  readonly piped: boolean;
  readonly cols: number;
  readonly rows: number;
  /** The number of lines above the screen. */
  readonly historySize: number;
  readonly cursorX: number;
  readonly cursorY: number;
  /** The number of panes in the pane's window, this one included. */
  readonly panes: number;
  /** When something was printed last; wall clock, ms, rounded up to the end of the second that tmux reports. */
  readonly activityAt?: number | undefined;
  readonly currentCommand: string;
  readonly title: string;
}

const NUMBERS = [
  "pane_dead",
  "pane_dead_status",
  "pane_dead_signal",
  "alternate_on",
  "pane_pid",
  "pane_pipe",
  "pane_width",
  "pane_height",
  "history_size",
  "cursor_x",
  "cursor_y",
  "window_activity",
  "window_panes",
];
const MODES = [
  "cursor_flag",
  "insert_flag",
  "keypad_cursor_flag",
  "keypad_flag",
  "origin_flag",
  "wrap_flag",
  "mouse_standard_flag",
  "mouse_button_flag",
  "mouse_all_flag",
  "mouse_sgr_flag",
  "mouse_utf8_flag",
  "bracket_paste_flag",
  "scroll_region_upper",
  "scroll_region_lower",
  "alternate_saved_x",
  "alternate_saved_y",
];
const NAMES = ["pane_current_command", "pane_title"];

/**
 * The command that asks for all facts. The pane's program chooses the names, and a name with a line break could imitate
 * the end of a reply, so tmux replaces their control characters. `separator` must be unguessable, since a name may
 * contain any printable text.
 */
export function factsCommand(paneId: string, separator: string): string {
  const numbers = NUMBERS.map((name) => `#{${name}}`).join(",");
  const names = NAMES.map((name) => `${separator}#{s/[\x01-\x1f\x7f]/ /:${name}}`).join("");
  return `display-message -p -t ${paneId} ${quoteArgument(numbers + names)}`;
}

/** @throws DomainError `unavailable` if the reply is not what `factsCommand` requests: the pane is gone. */
export function parseFacts(lines: readonly string[], separator: string): PaneFacts {
  const [numbers = "", currentCommand, ...rest] = lines.join("\n").split(separator);
  const values = numbers.split(",");
  if (values.length !== NUMBERS.length || currentCommand === undefined || !values.every(isNumberOf)) {
    throw new DomainError("unavailable", "cannot read the pane's state: it is gone");
  }
  const number = (name: string): number => Number(values[NUMBERS.indexOf(name)]);
  const optional = (name: string): number | undefined =>
    values[NUMBERS.indexOf(name)] === "" ? undefined : number(name);
  const deadStatus = optional("pane_dead_status");
  const deadSignal = optional("pane_dead_signal");
  const activity = optional("window_activity");
  return {
    dead: number("pane_dead") !== 0,
    deadStatus,
    deadSignal,
    activityAt: activity === undefined ? undefined : activity * 1000 + 999,
    alternate: number("alternate_on") !== 0,
    pid: number("pane_pid"),
    piped: number("pane_pipe") !== 0,
    panes: number("window_panes"),
    cols: number("pane_width"),
    rows: number("pane_height"),
    historySize: number("history_size"),
    cursorX: number("cursor_x"),
    cursorY: number("cursor_y"),
    currentCommand,
    title: rest.join(separator),
  };
}

/** Fields that may be empty, because they do not apply or an older tmux does not know them. */
const MAY_BE_EMPTY: ReadonlySet<string | undefined> = new Set([
  "pane_dead_status",
  "pane_dead_signal",
  "window_activity",
]);

/** The lowest and highest value of fields that are not counters; tmux itself limits the size of a window. */
const RANGES: Readonly<Record<string, readonly [least: number, most: number]>> = {
  pane_dead_status: [0, 255],
  pane_dead_signal: [0, 255],
  pane_pid: [1, 2 ** 22],
  pane_width: [1, 10_000],
  pane_height: [1, 10_000],
};

/** The server may be the agent's own: a value is accepted only if tmux could have sent it. */
function isNumberOf(value: string, index: number): boolean {
  const name = NUMBERS[index] ?? "";
  if (value === "") return MAY_BE_EMPTY.has(name);
  const [least, most] = RANGES[name] ?? [0, Number.MAX_SAFE_INTEGER];
  return /^\d{1,10}$/.test(value) && Number(value) >= least && Number(value) <= most;
}

export function modesCommand(paneId: string): string {
  return `display-message -p -t ${paneId} ${quoteArgument(MODES.map((name) => `#{${name}}`).join(","))}`;
}

export function parseModes(line: string): PaneModes {
  const values = line.split(",");
  const number = (name: string): number => {
    const value = values[MODES.indexOf(name)] ?? "";
    return /^\d{1,10}$/.test(value) ? Number(value) : 0;
  };
  const flag = (name: string): boolean => number(name) === 1;
  const button = flag("mouse_button_flag") ? "button" : flag("mouse_standard_flag") ? "standard" : "none";
  return {
    cursorVisible: flag("cursor_flag"),
    insert: flag("insert_flag"),
    cursorKeys: flag("keypad_cursor_flag"),
    keypad: flag("keypad_flag"),
    origin: flag("origin_flag"),
    wrap: flag("wrap_flag"),
    mouse: flag("mouse_all_flag") ? "all" : button,
    mouseSgr: flag("mouse_sgr_flag"),
    mouseUtf8: flag("mouse_utf8_flag"),
    bracketedPaste: flag("bracket_paste_flag"),
    scrollTop: number("scroll_region_upper"),
    scrollBottom: number("scroll_region_lower"),
    savedX: number("alternate_saved_x"),
    savedY: number("alternate_saved_y"),
  };
}

/**
 * Lists the server's clients: whether each is a control client, whether it is read-only, its pane, and when its last
 * key was pressed.
 */
export const CLIENTS = 'list-clients -F "#{client_control_mode},#{client_readonly},#{pane_id},#{client_activity}"';

/**
 * When a key was last pressed in a writing terminal on this pane, wall clock, ms, from the output of `CLIENTS`;
 * undefined: there is no such terminal.
 */
export function lastTyped(clients: readonly string[], paneId: string): number | undefined {
  const seconds = clients.flatMap((line) => {
    const [control, readonly, pane, activity = ""] = line.split(",");
    return control === "0" && readonly === "0" && pane === paneId && /^\d{1,10}$/.test(activity)
      ? [Number(activity)]
      : [];
  });
  return seconds.length === 0 ? undefined : Math.max(...seconds) * 1000 + 999;
}
