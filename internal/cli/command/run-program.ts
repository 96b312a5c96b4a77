import type { MainContext } from "../run-main.ts";
import { terminalSize } from "../terminal-size.ts";
import { version } from "../version.ts";
import type { Program } from "./command.ts";
import { commandContext } from "./command-context.ts";
import { findCall, type ParsedCall } from "./find-call.ts";

/** Runs the command that the line names; returns the exit code. @throws as `findCall` and the command */
export async function runProgram(program: Program, main: MainContext): Promise<number> {
  return await runCall(program.name, await findCall(program, main.argv, main.env), main);
}

/** Returns the exit code. @throws as the command */
async function runCall(program: string, call: ParsedCall, main: MainContext): Promise<number> {
  switch (call.type) {
    case "version":
      main.stdout.write(`${program} ${version}\n`);
      return 0;
    case "help":
      main.stdout.write(await (await import("./help-text.ts")).helpText(call.of, terminalSize(main.stdout).columns));
      return 0;
    case "run":
      return await call.command.run(call.given, commandContext(program, call.argv, main));
  }
}
