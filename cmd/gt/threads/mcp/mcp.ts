import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_FLAGS } from "../common/threads-flags.ts";

/** `gt threads mcp`: the tools as an MCP server over standard streams. */
export const mcp: Command<typeof THREADS_FLAGS> = {
  name: "mcp",
  flags: THREADS_FLAGS,
  help: {
    usage: "",
    summary: "the tools as an MCP server over standard streams",
    text: `Forwards MCP to the server line by line, with the token from the file that GT_THREADS_TOKEN_FILE names. The file
is read for each request. This is for agent programs that start their MCP servers; a program that can use a remote MCP
server calls URL/v1/mcp directly, with the token.`,
    examples: ["gt threads mcp"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-mcp.ts")).runMcp(given, context),
};
