import { type ExactJson, isList, isObject, type JsonObject, member, writeJson } from "./json-text.ts";
import type { SamplingSettings } from "./sampling-request.ts";
import type { ChatMessage } from "./user-message.ts";

/** Writes the JSON-RPC request of a turn with MCP's parameters (2025-11-25). */
export function mcpRequest(id: string, messages: readonly ChatMessage[], settings: SamplingSettings): string {
  const { model, maxTokens, system, tools } = settings;
  const params = {
    messages: messages.map((message) => ({ ...message, content: contentOf(member(message, "content") ?? "") })),
    modelPreferences: { hints: [{ name: model }] },
    systemPrompt: system,
    maxTokens,
    tools: tools?.map(toolOf),
  };
  return writeJson({ jsonrpc: "2.0", id, method: "sampling/createMessage", params });
}

function contentOf(content: ExactJson): ExactJson {
  if (typeof content === "string") return { type: "text", text: content };
  return isList(content) ? content.map((block) => (isObject(block) ? blockOf(block) : block)) : content;
}

function blockOf(block: JsonObject): ExactJson {
  if (member(block, "type") !== "tool_result" || member(block, "toolUseId") !== undefined) return block;
  const { tool_use_id, is_error, content, ...rest } = block;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return {
    ...rest,
    toolUseId: tool_use_id,
    content: isList(blocks) ? blocks : [{ type: "text", text: writeJson(blocks ?? null) }],
    isError: is_error,
  };
}

function toolOf(tool: ExactJson): ExactJson {
  if (!isObject(tool) || member(tool, "inputSchema") !== undefined) return tool;
  const { input_schema, ...rest } = tool;
  return input_schema === undefined ? tool : { ...rest, inputSchema: input_schema };
}
