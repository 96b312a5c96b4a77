import type { Named, Program } from "./command.ts";
import { withAllBelow } from "./named-commands.ts";

/** The program itself, with `completion` and `help` below it. */
export function namedProgram(program: Program): Named {
  const all = () => withAllBelow(namedProgram(program));
  return {
    call: program.name,
    node: program,
    below: {
      ...program.commands,
      completion: async () => (await import("./completion.ts")).completion(program, all),
      help: async () => (await import("./help.ts")).help(program.name, all),
    },
  };
}
