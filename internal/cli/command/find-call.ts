import { firstWord, parseFlags } from "../flags.ts";
import { type Command, type CommandFlags, type Given, isCommand, type Named, type Program } from "./command.ts";
import { loaded, namedBelow } from "./named-commands.ts";
import { namedProgram } from "./named-program.ts";

/** The request of a command line. */
export type ParsedCall =
  | { readonly type: "version" }
  | { readonly type: "help"; readonly of: Named }
  | {
      readonly type: "run";
      readonly command: Command;
      readonly given: Given<CommandFlags>;
      /** The arguments after the command's name. */
      readonly argv: readonly string[];
    };

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Parses a command line: finds the command in it, then reads that command's flags and arguments. If the program itself
 * can run, its commands are also found after flags.
 * @throws DomainError `invalid` for an unknown flag, then for an unknown command, and as `parseFlags`
 */
export async function findCall(program: Program, argv: readonly string[], env: Env): Promise<ParsedCall> {
  if (argv[0] === "version" || argv[0] === "--version") return { type: "version" };
  let of = namedProgram(program);
  let rest = argv;
  for (let at = await wordIn(of, rest); at !== undefined; at = await wordIn(of, rest)) {
    const below = await namedBelow(of, rest[at] ?? "");
    if (below === undefined) break;
    of = below;
    rest = rest.toSpliced(at, 1);
  }
  const { node } = of;
  if (!isCommand(node)) {
    const [first = "--help"] = rest;
    if (first === "--version") return { type: "version" };
    if (first === "--help" || first === "-h") return { type: "help", of };
    throw (await import("./unknown-word.ts")).unknownWord(of.call, rest, await loaded(of.below));
  }
  const { ask, ...given } = parseFlags(node.flags, rest, env);
  if (ask === "version") return { type: "version" };
  if (ask === "help") return { type: "help", of };
  const [word] = given.positionals;
  if (word !== undefined && node.completion.length === 0) {
    const { isNearly, unknownCommand } = await import("./unknown-word.ts");
    const names = Object.keys(of.below);
    if (isNearly(word, names)) throw unknownCommand(of.call, word, names);
  }
  return { type: "run", command: node, given, argv: rest };
}

/** The index of the word that could name a command below this one. */
async function wordIn({ node, below }: Named, argv: readonly string[]): Promise<number | undefined> {
  const [first] = argv;
  if (first === undefined || Object.keys(below).length === 0) return undefined;
  if (!first.startsWith("-")) return 0;
  if (!isCommand(node) || !argv.some((word) => Object.hasOwn(below, word))) return undefined;
  return firstWord(
    [node, ...(await loaded(below))].map((one) => (isCommand(one) ? one.flags : {})),
    argv,
  );
}
