import { DomainError } from "../../../internal/base/errors.ts";
import type { Command, CommandFlags, Given } from "../../../internal/cli/command/command.ts";
import { parseFlags } from "../../../internal/cli/flags.ts";

/** Parses the words after `gt NAME` into what the command's own reader gets. */
export function givenTo<F extends CommandFlags>(
  command: Command<F>,
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Given<F> {
  return parseFlags(command.flags, argv, env);
}

/** The message and hint of the usage error that `read` throws. */
export function usageErrorOf(read: () => unknown): [string, unknown] {
  try {
    read();
  } catch (err) {
    if (err instanceof DomainError && err.kind === "invalid") return [err.message, err.fields["hint"]];
    throw err;
  }
  throw new Error("nothing was thrown");
}
