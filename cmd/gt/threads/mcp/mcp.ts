import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_FLAGS } from "../common/threads-flags.ts";

/** `gt threads mcp`: the tools as an MCP server over standard streams. */
export const mcp: Command<typeof THREADS_FLAGS> = {
  name: "mcp",
  flags: THREADS_FLAGS,
  help: {
    usage: "",
    summary: "the tools as an MCP server over standard streams",
    text: `Passes MCP on to the server, line by line, with the token of the file in GT_THREADS_TOKEN_FILE, read at each
request. For agent programs that start MCP servers; remote ones call URL/v1/mcp with the token themselves.`,
    examples: ["gt threads mcp"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-mcp.ts")).runMcp(given, context),
};
