import { DomainError } from "../../../../internal/base/errors.ts";
import { takeArguments as take, usageError as usage } from "../../../../internal/cli/command/arguments.ts";
import { ID } from "../../../../internal/session/ids.ts";

const MAX_LINES = 100_000;

/** The positional arguments of `gt COMMAND`. @throws DomainError `invalid` if they are too few or too many */
export function gtArguments(
  command: string,
  given: readonly string[],
  must: readonly string[],
  may?: readonly string[],
): readonly string[] {
  return take(`gt ${command}`, given, must, may);
}

/** The error for a wrong call of `gt COMMAND`, with a hint that names its help. */
export function gtUsageError(command: string, message: string, hint?: string): DomainError {
  return usage(`gt ${command}`, message, hint);
}

/** A number of lines, from a flag (number) or an argument (text). @throws DomainError `invalid` */
export function readLines(value: string | number): number {
  const lines = typeof value === "number" ? value : /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
  if (!(lines >= 1 && lines <= MAX_LINES)) {
    throw new DomainError("invalid", `not a number of lines: ${JSON.stringify(value)} (1 to ${MAX_LINES})`);
  }
  return lines;
}

/** A request id; empty when none was given. @throws DomainError `invalid` */
export function readRequestId(command: string, id: string | undefined, what = "--request-id"): string {
  if (id === undefined) return "";
  if (!ID.test(id)) throw gtUsageError(command, `${what} takes 1 to 128 letters, digits, dots, dashes or underscores`);
  return id;
}
