import { DomainError } from "../../base/errors.ts";
import { quoteArgument } from "./quote.ts";

/** The command of a pane, its environment and its folder. */
export interface PaneCommand {
  /** Program and arguments, which are run without a shell. */
  readonly argv: readonly [string, ...string[]];
  /** Added to the environment that the server passes on. */
  readonly env: Readonly<Record<string, string>>;
  /** Removed from that environment. `TMUX` and `TMUX_PANE`, which tmux sets for every pane, are always removed. */
  readonly unsetEnv: readonly string[];
  /** Absolute path. If the folder does not exist, tmux silently uses another one. */
  readonly cwd: string;
}

/** The server option that contains the folder: `-c` expands formats, but not within the value of an option. */
const CWD_OPTION = "@gt-cwd";

/** The command line that must run before one with `commandArguments`. */
export function cwdCommand(command: PaneCommand): string {
  return `set-option -s ${CWD_OPTION} ${quoteArgument(command.cwd)}`;
}

/**
 * `-c … -e … -- program argument…`: the end of a new-session or respawn-pane line. tmux executes a command of several
 * words directly, and `env` replaces itself, so the pane's pid is the agent's.
 * @throws DomainError `invalid` for an impossible variable name, or a NUL anywhere
 */
export function commandArguments(command: PaneCommand): string {
  const words = ["-c", quoteArgument(`#{${CWD_OPTION}}`)];
  for (const [name, value] of Object.entries(command.env)) {
    words.push("-e", quoteArgument(`${checkName(name)}=${value}`));
  }
  return [...words, "--", ...paneArgv(command).map(quoteArgument)].join(" ");
}

/**
 * The argument list that tmux executes.
 * @internal
 */
export function paneArgv(command: PaneCommand): readonly string[] {
  const unset = ["TMUX", "TMUX_PANE", ...command.unsetEnv].flatMap((name) => ["-u", checkName(name)]);
  // `env` would take a program with "=" in its name for a variable; a shell that execs the program does not.
  const viaShell = command.argv[0].includes("=") ? ["sh", "-c", 'exec "$@"', "sh"] : [];
  return ["env", ...unset, ...viaShell, ...command.argv];
}

function checkName(name: string): string {
  if (name === "" || name.includes("="))
    throw new DomainError("invalid", `not a variable's name: ${JSON.stringify(name)}`);
  return name;
}
