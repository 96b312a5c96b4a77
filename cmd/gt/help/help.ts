import type { Command } from "../common/command/command.ts";

/** `gt help`. `all` gives the commands that it explains. */
export function help(all: () => Promise<readonly Command[]>): Command {
  return {
    name: "help",
    flags: {},
    help: {
      usage: "[command]",
      summary: "more about a command",
      text: "Shows help.",
      examples: ["gt help nudge"],
    },
    completion: "command",
    run: async (given, context) => (await import("./run-help.ts")).runHelp(given, await all(), context),
  };
}
