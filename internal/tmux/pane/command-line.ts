import { DomainError } from "../../base/errors.ts";

const NAME = /^[a-z][a-z-]*$/;
/** Quoted strings, escaped characters and plain text; what is left over is a separator or a brace. */
const SKIPPED = /"(?:[^"\\]|\\.)*"|'[^']*'|\\.|[^"'\\;{}]+/y;
/** Commands that run other commands, so that the number of replies is not known beforehand. */
const COMPOUND = new Set([
  "if-shell",
  "if",
  "run-shell",
  "run",
  "source-file",
  "source",
  "confirm-before",
  "command-prompt",
]);

/**
 * The name of the command that a line begins with.
 * @throws DomainError `invalid` for lines that tmux would not answer, or that would detach the client: an empty line, a
 * comment, an assignment, or a text with a line break or NUL.
 */
export function commandName(line: string): string {
  if (/[\n\r\0]/.test(line)) throw new DomainError("invalid", "a tmux command must be one line");
  const name = line.slice(0, line.indexOf(" ") < 0 ? undefined : line.indexOf(" "));
  if (!NAME.test(name)) throw new DomainError("invalid", "a tmux command must begin with a command's name");
  return name;
}

/**
 * Like `commandName`, for a line that must have exactly one reply.
 * @throws DomainError `invalid` for lists, blocks in braces and commands that run commands: those need `script`.
 */
export function plainCommandName(line: string): string {
  const name = commandName(line);
  if (COMPOUND.has(name) || !isSingle(line)) {
    throw new DomainError("invalid", `cannot tell how many replies a ${name} line has: send it as a script`);
  }
  return name;
}

function isSingle(line: string): boolean {
  let at = 0;
  while (at < line.length) {
    SKIPPED.lastIndex = at;
    const match = SKIPPED.exec(line);
    if (!match) return false;
    at += match[0].length;
  }
  return true;
}
