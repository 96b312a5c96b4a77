import { asObjects, asText, type Json, objectAt } from "../../base/json-fields.ts";
import type { AgentEvent } from "../../bridge/provider.ts";
import { toolCallText, toolInputText, toolResultText } from "../conversation/tool-text.ts";

/** The meaning of a notification of Codex's app-server. */
export type CodexEvent =
  | Extract<AgentEvent, { readonly type: "output" }>
  | { readonly type: "turn-began"; readonly turnId: string }
  | { readonly type: "turn-ended"; readonly hasFailed: boolean };

/** Empty for a notification without meaning here or of another thread. Pure. */
export function readCodexNotification(method: string, params: Json, threadId: string): readonly CodexEvent[] {
  const thread = params["threadId"];
  if (typeof thread === "string" && thread !== threadId) return [];
  switch (method) {
    case "turn/started":
      return [{ type: "turn-began", turnId: asText(objectAt(params, "turn")["id"]) }];
    case "turn/completed":
      return turnEnded(objectAt(params, "turn"));
    case "item/started":
      return itemBegan(objectAt(params, "item"));
    case "item/completed":
      return itemEnded(objectAt(params, "item"));
    case "error":
      return errorText(params);
    case "warning":
      return output(`${asText(params["message"])}\n`, "stderr");
    case "configWarning":
      return output(`${asText(params["summary"])}\n`, "stderr");
    default:
      return [];
  }
}

function itemBegan(item: Json): readonly CodexEvent[] {
  if (item["type"] !== "commandExecution") return [];
  return output(toolCallText(`Shell(${asText(item["command"])})`));
}

function itemEnded(item: Json): readonly CodexEvent[] {
  switch (item["type"]) {
    case "agentMessage":
    case "plan":
      return said(`${asText(item["text"])}\n`);
    case "commandExecution":
      return output(toolResultText(commandResult(item)));
    case "fileChange":
      return output(toolCallText(`Edit(${changedPaths(item)})`) + failure(item));
    case "mcpToolCall":
      return output(
        toolCallText(`${asText(item["server"])}.${asText(item["tool"])}(${argumentsText(item)})`) + failure(item),
      );
    case "webSearch":
      return output(toolCallText(`WebSearch(${asText(item["query"])})`));
    case "contextCompaction":
      return output("● Context compacted\n");
    default:
      return [];
  }
}

function commandResult(item: Json): string {
  const printed = asText(item["aggregatedOutput"]);
  const code = item["exitCode"];
  if (item["status"] === "declined") return "declined";
  if (code === 0 || typeof code !== "number") return printed;
  return `exit code ${code}\n${printed}`;
}

/** Paths of the files that a change touches. */
export function changedPaths(item: Json): string {
  return asObjects(item["changes"])
    .map((change) => asText(change["path"]))
    .join(", ");
}

function argumentsText(item: Json): string {
  const value = item["arguments"];
  return typeof value === "string" ? value : toolInputText(objectAt(item, "arguments"));
}

function failure(item: Json): string {
  const status = asText(item["status"]);
  return status === "failed" || status === "declined" ? toolResultText(status) : "";
}

function turnEnded(turn: Json): readonly CodexEvent[] {
  const ended = { type: "turn-ended", hasFailed: true } as const;
  if (turn["status"] === "interrupted") return [...output("● The turn was interrupted\n"), ended];
  if (turn["status"] !== "failed") return [{ ...ended, hasFailed: false }];
  return [...output(`● The turn failed: ${asText(objectAt(turn, "error")["message"])}\n`), ended];
}

function errorText(params: Json): readonly CodexEvent[] {
  // An error that ends the turn is reported at the turn's end.
  if (params["willRetry"] !== true) return [];
  const error = objectAt(params, "error");
  return output(`● ${asText(error["message"])} ${asText(error["additionalDetails"])}`.trimEnd().concat("\n"));
}

/** The model's words. */
function said(text: string): readonly CodexEvent[] {
  return output(text).map((event) => ({ ...event, modelChars: text.length }));
}

function output(
  text: string,
  stream: "stdout" | "stderr" = "stdout",
): readonly Extract<CodexEvent, { readonly type: "output" }>[] {
  return text.trim() === "" ? [] : [{ type: "output", stream, text }];
}
