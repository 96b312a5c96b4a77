import { type ExactJson, isList, type JsonObject, member, writeJson } from "./json-text.ts";
import type { WorkMessage } from "./work-message.ts";

/** One message of a conversation with a sampling agent. */
export type ChatMessage = JsonObject;

/**
 * The messages that work adds to a conversation in the seed's dialect: one user message, or the messages of its
 * payload.
 */
export function userMessages({ type, payload }: WorkMessage): readonly ChatMessage[] {
  if (type === "tool_result") return [{ role: "user", content: [toolResult(payload)] }];
  const messages = member(payload, "messages");
  if (isList(messages)) return messages as readonly ChatMessage[];
  const prompt = member(payload, "prompt");
  if (isList(prompt)) return [{ role: "user", content: prompt }];
  return [{ role: "user", content: taskText(payload) }];
}

/** True if the work continues the conversation; false: it begins a new one. */
export function continuesConversation({ type, payload }: WorkMessage): boolean {
  return type === "tool_result" || member(payload, "continue") === true;
}

/**
 * The task; with requirements: `TASK. Requirements: A; B`. Requirements that are not strings are written as JSON.
 * @internal
 */
export function taskText(payload: JsonObject): string {
  const task = String(member(payload, "task"));
  const requirements = member(payload, "requirements");
  if (!isList(requirements) || requirements.length === 0) return task;
  const stop = /[.!?]$/.test(task) ? "" : ".";
  const listed = requirements.map((item) => (typeof item === "string" ? item : writeJson(item)));
  return `${task}${stop} Requirements: ${listed.join("; ")}`;
}

function toolResult(payload: JsonObject): ExactJson {
  const isError = member(payload, "is_error");
  return {
    type: "tool_result",
    tool_use_id: member(payload, "tool_id"),
    content: member(payload, "content"),
    is_error: isError,
  };
}
