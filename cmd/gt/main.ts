import type { ErrorKind } from "../../internal/base/errors.ts";
import { parseFlags } from "../../internal/cli/flags.ts";
import { type MainContext, runMain } from "../../internal/cli/run-main.ts";
import { version } from "../../internal/cli/version.ts";
import { commandNamed, commandNames } from "./commands.ts";
import { commandContext } from "./common/command/command-context.ts";

/** Usage 2, no such agent 3, unreachable or not trusted 4, refused 6; what is not here is 1. */
const exitCodes: Readonly<Record<ErrorKind, number>> = {
  invalid: 2,
  "already-exists": 2,
  unimplemented: 2,
  "not-found": 3,
  unavailable: 4,
  deadline: 4,
  unauthenticated: 4,
  denied: 4,
  precondition: 4,
  exhausted: 6,
  cancelled: 6,
};

async function main(context: MainContext): Promise<number> {
  const { env, stdout } = context;
  const [first = "--help", ...rest] = context.argv;
  const [name, argv] = first === "-h" || first === "--help" ? ["help", []] : [first, rest];
  if (name === "--version") return printVersion(stdout);
  const command = await commandNamed(name);
  if (command === undefined) {
    throw (await import("./common/command/unknown-command.ts")).unknownCommand(name, commandNames);
  }
  const { ask, ...given } = parseFlags(command.flags, argv, env);
  if (ask === "version") return printVersion(stdout);
  if (ask === "help") {
    stdout.write((await import("./common/command/help-text.ts")).helpText(command));
    return 0;
  }
  return await command.run(given, commandContext(context));
}

function printVersion(stdout: NodeJS.WriteStream): number {
  stdout.write(`gt ${version}\n`);
  return 0;
}

await runMain({ name: "gt", exitCodes }, main);
