import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES } from "../common/threads-flags.ts";
import { CONNECT_FLAGS } from "./connect-flags.ts";

/** `gt threads connect`: print the configuration that gives an agent program the tools. */
export const connect: Command<typeof CONNECT_FLAGS> = {
  name: "connect",
  flags: CONNECT_FLAGS,
  help: {
    usage: "[agent]",
    summary: "lines that give an agent program these tools",
    text: `Prints, for each agent program or one of them, what to put where so that it starts
gt threads mcp. gt-sidecar --threads does this by itself.`,
    notes: THREADS_CODES,
    examples: ["gt threads connect codex"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-connect.ts")).runConnect(given, context),
};
