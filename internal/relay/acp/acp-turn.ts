import { type ExactJson, isList, isObject, type JsonObject, member, writeJson } from "./json-text.ts";
import { cancellation, failure, type ResultPart } from "./result-parts.ts";
import { taskText } from "./user-message.ts";
import type { WorkMessage } from "./work-message.ts";

/** The parameters of `initialize`: the relay offers ACP agents no files and no terminals. */
export const INITIALIZE = {
  protocolVersion: 1,
  clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
  clientInfo: { name: "gastown-relay", version: "1" },
};

/** False if the agent answered `initialize` with another version. */
export function speaksVersion1(initialized: ExactJson): boolean {
  const version = isObject(initialized) ? member(initialized, "protocolVersion") : undefined;
  return version === undefined || version === 1;
}

/** The content blocks of an ACP prompt. */
export function promptBlocks({ type, payload }: WorkMessage): readonly ExactJson[] {
  const prompt = member(payload, "prompt");
  if (isList(prompt)) return prompt;
  if (type === "tool_result") return [textBlock(textOf(member(payload, "content") ?? ""))];
  const messages = member(payload, "messages");
  if (!isList(messages)) return [textBlock(taskText(payload))];
  return messages.map((message) => textBlock(textOf((isObject(message) && member(message, "content")) || "")));
}

/** The text of an `agent_message_chunk`; undefined: another update. */
export function chunkText(update: JsonObject): string | undefined {
  if (member(update, "sessionUpdate") !== "agent_message_chunk") return undefined;
  const content = member(update, "content");
  const text = isObject(content) ? member(content, "text") : undefined;
  return typeof text === "string" ? text : undefined;
}

/** Translates the response to `session/prompt`. `text`: the agent's text in this turn. */
export function answerOfPrompt(response: ExactJson, text: string): readonly ResultPart[] {
  const stop = isObject(response) ? member(response, "stopReason") : undefined;
  if (!isObject(response) || typeof stop !== "string") {
    return [failure("agent_protocol", "the agent ended its turn without a stop reason")];
  }
  const usage = member(response, "usage");
  const more = { stop_reason: stop, usage: usage ?? undefined };
  if (stop === "cancelled") return [cancellation("agent")];
  if (stop === "end_turn") return [{ type: "result.success", payload: { text, ...more } }];
  const partial: readonly ResultPart[] = text === "" ? [] : [{ type: "result.partial", payload: { text } }];
  return [...partial, { type: "result.failure", payload: { error: `the agent stopped: ${stop}`, reason: stop } }];
}

function textBlock(text: string): ExactJson {
  return { type: "text", text };
}

function textOf(content: ExactJson): string {
  return typeof content === "string" ? content : writeJson(content);
}
