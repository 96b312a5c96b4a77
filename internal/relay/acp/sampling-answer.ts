import { type ExactJson, isList, isObject, type JsonObject, member } from "./json-text.ts";
import { failure, type ResultPart } from "./result-parts.ts";

/** An agent's answer to a sampling request: the parts to publish, and the content for the conversation. */
export interface SamplingAnswer {
  /** At least one. */
  readonly parts: readonly ResultPart[];
  /** The assistant's content, unchanged; undefined: the agent failed. */
  readonly assistant: ExactJson | undefined;
}

/** Reads the `result` of a response in the seed's dialect or MCP's. */
export function answerOfResult(result: ExactJson | undefined): SamplingAnswer {
  const content = isObject(result) ? member(result, "content") : undefined;
  const blocks = content === undefined ? undefined : blocksOf(content);
  if (!isObject(result) || blocks === undefined) {
    return { parts: [failure("agent_protocol", "the agent's result has no content")], assistant: undefined };
  }
  const parts = blocks.some(isToolUse) ? blocks.map(partOf) : finalParts(blocks, result);
  return { parts, assistant: content };
}

/** Reads the `error` of a response. */
export function answerOfError(error: ExactJson): SamplingAnswer {
  if (!isObject(error)) {
    return { parts: [failure("agent_protocol", "the agent's error is not an object")], assistant: undefined };
  }
  const [message, code, data] = [member(error, "message"), member(error, "code"), member(error, "data")];
  const payload = { error: typeof message === "string" ? message : "the agent answered with an error", code, data };
  return { parts: [{ type: "result.failure", payload }], assistant: undefined };
}

function blocksOf(content: ExactJson): readonly JsonObject[] | undefined {
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (isObject(content)) return [content];
  return isList(content) && content.every(isObject) ? content : undefined;
}

function isToolUse(block: JsonObject): boolean {
  return member(block, "type") === "tool_use";
}

function textOf(block: JsonObject): string | undefined {
  const text = member(block, "type") === "text" ? member(block, "text") : undefined;
  return typeof text === "string" ? text : undefined;
}

function partOf(block: JsonObject): ResultPart {
  if (isToolUse(block)) {
    const [name, id, input] = [member(block, "name"), member(block, "id"), member(block, "input")];
    return { type: "tool_use", payload: { tool_name: name ?? null, tool_id: id ?? null, input: input ?? {} } };
  }
  const text = textOf(block);
  return { type: "result.partial", payload: text === undefined ? { block } : { text } };
}

/** Puts blocks other than text first, so that `result.success` is the last part. */
function finalParts(blocks: readonly JsonObject[], result: JsonObject): readonly ResultPart[] {
  const others = blocks.filter((block) => textOf(block) === undefined).map(partOf);
  const text = blocks.map((block) => textOf(block) ?? "").join("");
  const stop = member(result, "stop_reason") ?? member(result, "stopReason");
  const usage = member(result, "usage");
  const payload = { text, stop_reason: stop, usage };
  return [...others, { type: "result.success", payload }];
}
