// An MCP server over stdio whose tools ask a person questions, as an agent's own servers do.
import { appendFileSync } from "node:fs";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";

/** Receives each answer, one per line. */
const [, , log = "/dev/null"] = process.argv;

const FORMS = {
  ask_plainly: {},
  ask_publish: { publish: { type: "boolean", title: "Publish", description: "yes or no" } },
} as const;

const server = new McpServer({ name: "forms", version: "1.0.0" });
for (const [name, properties] of Object.entries(FORMS)) {
  server.registerTool(name, { description: "Asks the person" }, async ({ mcpReq }) => {
    const requestedSchema = { type: "object" as const, properties, required: Object.keys(properties) };
    const { action, content } = await mcpReq.elicitInput({ message: "Shall it go out today?", requestedSchema });
    appendFileSync(log, `${name} ${action} ${JSON.stringify(content ?? {})}\n`);
    return { content: [{ type: "text", text: action }] };
  });
}
await server.connect(new StdioServerTransport());
