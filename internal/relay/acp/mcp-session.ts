import { type ExactJson, isObject, member, writeJson } from "./json-text.ts";

const LATEST = "2025-11-25";

/**
 * Answers `initialize` and `ping`, which an MCP peer sends before it samples. Returns the response as JSON-RPC text;
 * undefined: another method.
 */
export function mcpResponse(id: string | number, method: string, params: ExactJson | undefined): string | undefined {
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
