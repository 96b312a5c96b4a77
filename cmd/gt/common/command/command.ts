import type { FlagSpec, ParsedFlags } from "../../../../internal/cli/flags.ts";
import type { CommandContext } from "./command-context.ts";

/** One flag of a command: how it is read, what help says about it, and how a shell completes its value. */
export interface CommandFlag extends FlagSpec {
  /** What stands for the value in help, e.g. `N`. Absent for a boolean. */
  readonly value?: string;
  /** Its meaning, one entry per line of help. */
  readonly help: readonly string[];
  readonly complete?: readonly string[] | "file" | "folder";
}

export type CommandFlags = Readonly<Record<string, CommandFlag>>;

/** Flags that several commands share and that help lists under a heading of their own. */
export interface FlagSection {
  readonly heading: string;
  readonly names: readonly string[];
}

/** What help says; `helpText` puts it together with the flags. */
interface CommandHelp {
  /** The arguments after `gt NAME`, e.g. `<agent> [count]`. */
  readonly usage: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** What the command does, in paragraphs. */
  readonly text: string;
  /** Paragraphs below the flags, e.g. exit codes. */
  readonly notes?: string;
  /** Command lines without the indentation. */
  readonly examples: readonly string[];
  readonly sections?: readonly FlagSection[];
}

/** The arguments and flags of one call. */
export type Given<F extends CommandFlags> = Omit<ParsedFlags<F>, "ask">;

/**
 * One command of `gt`: a light value. Parsing, help and completion are derived from it; the code that does the work is
 * imported when `run` is called.
 */
export interface Command<F extends CommandFlags = CommandFlags> {
  readonly name: string;
  readonly flags: F;
  readonly help: CommandHelp;
  /** What a shell completes as the first argument: an agent, a command, or these words. */
  readonly completion: "agent" | "command" | readonly string[];
  /** The exit code. @throws DomainError `invalid` for arguments that it does not take, and as the command documents */
  run(given: Given<F>, context: CommandContext): Promise<number>;
}
