import { isObject, type Json, member, writeJson } from "./json-text.ts";

const LATEST = "2025-11-25";

/**
 * What an MCP client asks of its server before it samples: `initialize` and `ping`. The result as JSON-RPC text;
 * undefined: the method is none of these.
 */
export function mcpResponse(id: string | number, method: string, params: Json | undefined): string | undefined {
  if (method === "ping") return writeJson({ jsonrpc: "2.0", id, result: {} });
  if (method !== "initialize") return undefined;
  const asked = isObject(params) ? member(params, "protocolVersion") : undefined;
  const result = {
    protocolVersion: typeof asked === "string" ? asked : LATEST,
    capabilities: {},
    serverInfo: { name: "relay", version: "1" },
  };
  return writeJson({ jsonrpc: "2.0", id, result });
}
