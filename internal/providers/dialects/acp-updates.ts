import { asObjects, asText, type Json, objectAt } from "../../base/json-fields.ts";
import { toolCallText, toolInputText, toolResultText } from "../conversation/tool-text.ts";

/** How a reader of session updates stands between two of them. */
export interface AcpText {
  /** The end of the model's text that has no line end yet. */
  readonly partial: string;
  /** Tools whose call was reported. */
  readonly told: ReadonlySet<string>;
}

export const NO_TEXT: AcpText = { partial: "", told: new Set() };

/** A line longer than this is reported in pieces. */
const MAX_PARTIAL_CHARS = 4096;

/**
 * Text for people out of the updates of the Agent Client Protocol: the model's words as whole lines, and each tool once
 * with what it does and once with what it gave back. What it thinks is left out. Pure.
 */
export function readAcpUpdate(state: AcpText, update: Json): { readonly state: AcpText; readonly text: string } {
  switch (update["sessionUpdate"]) {
    case "agent_message_chunk":
      return wordsRead(state, asText(objectAt(update, "content")["text"]));
    case "tool_call":
    case "tool_call_update":
      return toolRead(state, update);
    case "plan":
      return { state: { ...state, partial: "" }, text: flushed(state) + planText(update) };
    default:
      return { state, text: "" };
  }
}

/** The turn is over: what is left of the text, and no tool of it comes again. */
export function endAcpText(state: AcpText): { readonly state: AcpText; readonly text: string } {
  return { state: NO_TEXT, text: flushed(state) };
}

function wordsRead(state: AcpText, words: string): { readonly state: AcpText; readonly text: string } {
  const text = state.partial + words;
  const end = text.length > MAX_PARTIAL_CHARS ? text.length : text.lastIndexOf("\n") + 1;
  return { state: { ...state, partial: text.slice(end) }, text: text.slice(0, end) };
}

function toolRead(state: AcpText, update: Json): { readonly state: AcpText; readonly text: string } {
  const id = asText(update["toolCallId"]);
  const status = asText(update["status"]);
  const isOver = status === "completed" || status === "failed";
  // Before it runs, its title may be no more than the name of the tool.
  const isCall = !state.told.has(id) && (isOver || status === "in_progress");
  if (!isCall && !isOver) return { state, text: "" };
  const text = [isCall ? callText(update) : "", isOver ? resultText(update) : ""].join("");
  const told = isOver ? without(state.told, id) : new Set([...state.told, id]);
  return { state: { partial: "", told }, text: flushed(state) + text };
}

function callText(update: Json): string {
  const input = toolInputText(objectAt(update, "rawInput"));
  const title = asText(update["title"]);
  const kind = asText(update["kind"]) || "tool";
  return toolCallText(input === "" || input === title ? `${kind}(${title})` : `${title || kind}(${input})`);
}

function resultText(update: Json): string {
  const text = asObjects(update["content"])
    .map((item) =>
      item["type"] === "diff" ? `diff of ${asText(item["path"])}` : asText(objectAt(item, "content")["text"]),
    )
    .join("\n");
  const isFailed = update["status"] === "failed";
  return toolResultText(isFailed && text.trim() === "" ? "failed" : text);
}

function planText(update: Json): string {
  return asObjects(update["entries"])
    .map((entry) => `● ${asText(entry["status"])}: ${asText(entry["content"])}\n`)
    .join("");
}

function flushed({ partial }: AcpText): string {
  return partial === "" ? "" : `${partial}\n`;
}

function without(ids: ReadonlySet<string>, id: string): ReadonlySet<string> {
  return new Set([...ids].filter((each) => each !== id));
}
