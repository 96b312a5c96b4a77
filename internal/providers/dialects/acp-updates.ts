import { asObjects, asText, type Json, objectAt } from "../../base/json-fields.ts";
import { toolCallText, toolInputText, toolResultText } from "../conversation/tool-text.ts";

/** The state of a reader between two session updates. */
export interface AcpText {
  /** The last part of the model's text, which has no line end yet. */
  readonly partial: string;
  /** Tools whose call was reported. */
  readonly told: ReadonlySet<string>;
}

export const NO_TEXT: AcpText = { partial: "", told: new Set() };

/** The text that a session update adds for people, and the reader's state after it. */
interface AcpStep {
  readonly state: AcpText;
  readonly text: string;
  /** The number of characters at the beginning of `text` that are the model's words. */
  readonly modelChars: number;
}

/** A line longer than this is reported in pieces. */
const MAX_PARTIAL_CHARS = 4096;

/**
 * Extracts text for people from the updates of the Agent Client Protocol: the model's words as whole lines, and each
 * tool's call and result once. The model's thoughts are left out. Pure.
 */
export function readAcpUpdate(state: AcpText, update: Json): AcpStep {
  switch (update["sessionUpdate"]) {
    case "agent_message_chunk":
      return wordsRead(state, asText(objectAt(update, "content")["text"]));
    case "tool_call":
    case "tool_call_update":
      return toolRead(state, update);
    case "plan":
      return stepOf({ ...state, partial: "" }, flushed(state), planText(update));
    default:
      return stepOf(state);
  }
}

/** Ends the turn: emits the rest of the text, and forgets the turn's tools. */
export function endAcpText(state: AcpText): AcpStep {
  return stepOf(NO_TEXT, flushed(state));
}

function stepOf(state: AcpText, words = "", more = ""): AcpStep {
  return { state, text: words + more, modelChars: words.length };
}

function wordsRead(state: AcpText, words: string): AcpStep {
  const text = state.partial + words;
  const end = text.length > MAX_PARTIAL_CHARS ? text.length : text.lastIndexOf("\n") + 1;
  return stepOf({ ...state, partial: text.slice(end) }, text.slice(0, end));
}

function toolRead(state: AcpText, update: Json): AcpStep {
  const id = asText(update["toolCallId"]);
  const status = asText(update["status"]);
  const isOver = status === "completed" || status === "failed";
  // Before the tool runs, its title may be only its name.
  const isCall = !state.told.has(id) && (isOver || status === "in_progress");
  if (!isCall && !isOver) return stepOf(state);
  const text = [isCall ? callText(update) : "", isOver ? resultText(update) : ""].join("");
  const told = isOver ? without(state.told, id) : new Set([...state.told, id]);
  return stepOf({ partial: "", told }, flushed(state), text);
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
