import { DomainError } from "../../base/errors.ts";
import { firstWord, unknownFlagIn } from "../flags.ts";
import { nearestName } from "../nearest-name.ts";
import { type CommandNode, isCommand } from "./command.ts";

/** The error for a command that `call` does not have; its hint is the name that was probably meant. */
export function unknownCommand(call: string, name: string, known: readonly string[]): DomainError {
  const nearest = nearestName(name, known);
  const [program, ...path] = call.split(" ");
  const list = [program, "help", ...path].join(" ");
  const hint = nearest === undefined ? `${list} lists the commands` : `did you mean ${call} ${nearest}?`;
  return new DomainError("invalid", `unknown command ${JSON.stringify(name)}`, { fields: { hint } });
}

/** True if a word that a command cannot take was probably meant as one of these names. */
export function isNearly(word: string, names: readonly string[]): boolean {
  return nearestName(word, names) !== undefined;
}

/** The error for a line that names none of the commands: a flag that none of them takes, otherwise its first word. */
export function unknownWord(call: string, argv: readonly string[], below: readonly CommandNode[]): DomainError {
  const flags = below.map((node) => (isCommand(node) ? node.flags : {}));
  const flag = unknownFlagIn(flags, argv);
  if (flag !== undefined) return flag;
  const at = firstWord(flags, argv);
  if (at === undefined) {
    const hint = `flags follow the command; ${call} --help lists the commands`;
    return new DomainError("invalid", `${call} needs a command`, { fields: { hint } });
  }
  const names = below.map(({ name }) => name);
  const word = argv[at] ?? "";
  if (!names.includes(word)) return unknownCommand(call, word, names);
  const hint = `flags follow the command: ${call} ${word} ${argv[0]}`;
  return new DomainError("invalid", `${argv[0]} stands before the command`, { fields: { hint } });
}
