import { type CommandFlag, isCommand, type Named } from "./command.ts";

/** Command lines that print words to choose from, by name. */
export type Lists = Readonly<Record<string, string>>;

export interface PlaceFlag extends Pick<CommandFlag, "short" | "complete"> {
  readonly name: string;
  readonly takesValue: boolean;
}

/** The completions at one place of a command line. */
export interface CompletionContext {
  /** The words before that place, without the program's name; empty for the program itself. */
  readonly path: string;
  readonly summary: string;
  readonly flags: readonly PlaceFlag[];
  /** Words for the first argument, or their source: `file`, `folder`, the name of a list. */
  readonly argument: string | readonly string[];
}

/** `commands`: the program's commands, which `help` takes. */
export function completionContextOf(
  program: string,
  { call, node, below }: Named,
  commands: readonly string[],
): CompletionContext {
  const path = call.slice(program.length + 1);
  const own = Object.entries(isCommand(node) ? node.flags : {}).map(([name, { type, short, complete }]) => ({
    name,
    takesValue: type !== "boolean",
    ...{ short, complete },
  }));
  const version = path === "" ? [{ name: "version", takesValue: false }] : [];
  const given = isCommand(node) ? node.completion : [];
  const words = Object.keys(below);
  const argument = words.length > 0 ? words : given === "command" ? commands : given;
  const flags = [...own, { name: "help", short: "h", takesValue: false }, ...version];
  return { path, summary: node.help.summary, flags, argument };
}

/** Text as one word of a shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
