import type { FlagSpec, ParsedFlags } from "../flags.ts";
import type { CommandContext } from "./command-context.ts";

/** One flag of a command: how it is read, what help says about it, and how a shell completes its value. */
export interface CommandFlag extends FlagSpec {
  /** The placeholder of the value in help, e.g. `N`. Absent for a boolean. */
  readonly value?: string;
  /** The flag's meaning. Help adds the name of the environment variable. */
  readonly help: string;
  readonly complete?: readonly string[] | "file" | "folder";
}

export type CommandFlags = Readonly<Record<string, CommandFlag>>;

/** Flags that help lists under a heading of their own, below the others. */
export interface FlagSection {
  readonly heading: string;
  readonly names: readonly string[];
}

/**
 * The help of a command; `helpText` combines it with flags and commands. Texts are paragraphs, wrapped to the terminal;
 * an indented paragraph stays as it is.
 */
interface CommandHelp {
  /** The arguments after the command's name, e.g. `<agent> [count]`. */
  readonly usage: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** The command's effect. */
  readonly text: string;
  /** Paragraphs below the flags, e.g. exit codes. */
  readonly notes?: string;
  /** Command lines without the indentation; a comment follows two blanks and `#`. */
  readonly examples: readonly string[];
  readonly sections?: readonly FlagSection[];
}

/** The arguments and flags of one call. */
export type Given<F extends CommandFlags> = Omit<ParsedFlags<F>, "ask">;

/** Commands by name, in the order in which help lists them. Each is imported when it is needed. */
export type CommandTable = Readonly<Record<string, () => Promise<CommandNode>>>;

/**
 * One command of a program. Parsing, help and completion are derived from this description; the code that does the work
 * is imported when `run` is called.
 */
export interface Command<F extends CommandFlags = CommandFlags> {
  readonly name: string;
  readonly flags: F;
  readonly help: CommandHelp;
  /**
   * How a shell completes the first argument: with these words, or with what is named: `file`, `folder`, `command`, or
   * one of the program's `lists`.
   */
  readonly completion: string | readonly string[];
  /** The commands below this one, by their first word; `run` is for calls that name none of them. */
  readonly commands?: CommandTable;
  /** The exit code. @throws DomainError `invalid` for arguments that it does not take, and as the command documents */
  run(given: Given<F>, context: CommandContext): Promise<number>;
}

/** Commands under a common word. The word alone only shows its help. */
interface CommandGroup {
  readonly name: string;
  readonly help: Omit<CommandHelp, "usage">;
  readonly commands: CommandTable;
}

export type CommandNode = Command | CommandGroup;

/** A binary: its name, and its effect or commands. The commands `completion` and `help` are added. */
export type Program = CommandNode & {
  /** Command lines by the word in `completion` that stands for them; each prints the words to choose from. */
  readonly lists?: Readonly<Record<string, string>>;
};

/** A command or group in its place. */
export interface Named {
  /** The words that call it, e.g. `gt threads post`. */
  readonly call: string;
  readonly node: CommandNode;
  readonly below: CommandTable;
}

/** True if the node can run; false for a group of commands. */
export function isCommand(node: CommandNode): node is Command {
  return "run" in node;
}
