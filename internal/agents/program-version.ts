import { basename } from "node:path";
import { knownProgram, type ProfileName } from "./known-programs.ts";

/** Programs that run the file after them; flags of their own may be in between. */
const INTERPRETER = /^node(?:\.exe)?$/;

/**
 * The command that prints the version of the agent program in `command`. Undefined for another program (a shell, a
 * wrapper), which might do anything with the flag.
 */
export function versionCommand(
  name: ProfileName,
  command: readonly [string, ...string[]],
): readonly [string, ...string[]] | undefined {
  const known = knownProgram(name).versionFile;
  if (known === undefined) return undefined;
  const [program, ...args] = command;
  if (isKnown(program, known)) return [program, "--version"];
  const file = args.findIndex((arg) => !arg.startsWith("-"));
  const isRunByNode = INTERPRETER.test(basename(program)) && isKnown(args[file] ?? "", known);
  return isRunByNode ? [program, ...args.slice(0, file + 1), "--version"] : undefined;
}

/** The first version in what a program printed, e.g. `2.1.330` in `2.1.330 (Claude Code)`; at most 32 characters. */
export function versionIn(printed: string): string | undefined {
  return /(?<![\w.])v?(\d{1,8}(?:\.\d{1,8}){1,3}(?:[+-][A-Za-z0-9.+-]{1,12})?)(?![\w.])/
    .exec(printed)?.[1]
    ?.slice(0, 32);
}

function isKnown(file: string, known: RegExp): boolean {
  return known.test(basename(file)) || known.test(file);
}
