import { terminalSize } from "../terminal-size.ts";
import type { Command, Named } from "./command.ts";

/** `PROGRAM help`. `all` returns the commands to explain. */
export function help(program: string, all: () => Promise<readonly Named[]>): Command {
  return {
    name: "help",
    flags: {},
    help: {
      usage: "[command]",
      summary: "more about a command",
      text: "Shows help.",
      examples: [`${program} help completion`],
    },
    completion: "command",
    run: async ({ positionals }, { out, stdout }) => {
      const { helpOn } = await import("./help-on.ts");
      out.plain(await helpOn(program, positionals, await all(), terminalSize(stdout).columns));
      return 0;
    },
  };
}
