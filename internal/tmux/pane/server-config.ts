import { commandArguments, cwdCommand, type PaneCommand } from "./pane-command.ts";
import { quoteArgument } from "./quote.ts";

export interface ServerConfig {
  /** Name of the session; letters, digits, `-`, `_`. */
  readonly session: string;
  readonly cols: number;
  readonly rows: number;
  /** Lines kept above the screen; a pane keeps the limit that applied when it was created. */
  readonly historyLimit: number;
  readonly agent: PaneCommand;
}

/** Name of the agent's window; the hook below changes it when the agent ends. */
export const WINDOW_NAME = "agent";
const DEAD_WINDOW_NAME = "dead";

/** `-q` keeps an error about an option that this tmux does not know off the agent's screen. */
const OPTIONS = [
  "set -s exit-empty off",
  "set -s escape-time 0",
  "set -s set-clipboard off",
  "set -sq extended-keys off",
  "set -g status off",
  "set -g prefix None",
  "set -g update-environment ''",
  "set -g remain-on-exit on",
  "set -gq remain-on-exit-format ''",
  "set -g automatic-rename off",
  "set -g allow-rename off",
  "set -g default-terminal tmux-256color",
  "set -g focus-events off",
  // Only a deferred command notifies clients: a plain rename-window in a hook would go unnoticed.
  `set-hook -g pane-died "run-shell -b -C 'rename-window ${DEAD_WINDOW_NAME}'"`,
];

/**
 * The configuration file of a private server with one session, one window and the agent as the pane's command. The
 * window keeps its size when clients attach. Contains the agent's environment: write it with mode 0600.
 * @throws DomainError `invalid` for values that tmux cannot carry
 */
export function serverConfig(config: ServerConfig): string {
  const { session, cols, rows, historyLimit, agent } = config;
  const size = `-x ${cols} -y ${rows}`;
  const lines = [
    ...OPTIONS,
    `set -g history-limit ${historyLimit}`,
    cwdCommand(agent),
    `new-session -d -s ${quoteArgument(session)} -n ${WINDOW_NAME} ${size} ${commandArguments(agent)}`,
    // Fixes the size of this window alone: window-size manual as a global option makes tmux < 3.7 crash.
    `resize-window -t ${quoteArgument(`=${session}:`)} ${size}`,
  ];
  return `${lines.join("\n")}\n`;
}
