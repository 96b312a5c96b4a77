import { asObjects, asText, type Json, objectAt, parseObject } from "../../base/json-fields.ts";
import { toolCallText, toolInputText, toolResultText } from "../conversation/tool-text.ts";

/** The meaning of a line of Claude Code's stream-json. */
export type ClaudeLine =
  /** Text for people: the model's words (`modelChars` of it), tool calls, tool results. */
  | { readonly type: "output"; readonly text: string; readonly modelChars?: number }
  /** The id of its conversation, by which it can be continued. */
  | { readonly type: "conversation"; readonly id: string }
  /** A turn begins. */
  | { readonly type: "turn-began" }
  | { readonly type: "turn-ended"; readonly hasFailed: boolean }
  /** The message with this id is `kept` until the current turn allows it, or `begun` when the model gets it. */
  | { readonly type: "kept" | "begun"; readonly uuid: string }
  /** The model will never get the message: it was cancelled, discarded or refused. */
  | { readonly type: "dropped"; readonly uuid: string; readonly how: string }
  /** The response to one of our requests. */
  | { readonly type: "answered"; readonly requestId: string; readonly error?: string }
  /** The agent wants to use a tool and waits for an answer. */
  | {
      readonly type: "asks";
      readonly requestId: string;
      readonly tool: string;
      readonly input: Json;
      readonly text: string;
    }
  /** A request of the agent that is unknown here; the agent waits for an answer to it too. */
  | { readonly type: "unknown-request"; readonly requestId: string };

/** The model's name in lines of the program itself, e.g. about a refused request. */
const NO_MODEL = "<synthetic>";

/** Empty for a line without meaning here; undefined for one that is not of the protocol. Pure. */
export function readClaudeLine(line: string): readonly ClaudeLine[] | undefined {
  const json = parseObject(line);
  switch (json?.["type"]) {
    case "assistant":
      return [{ type: "turn-began" }, ...assistantLine(json)];
    case "user":
      return userLine(json);
    case "system":
      if (json["subtype"] !== "init") return [];
      return [{ type: "conversation", id: asText(json["session_id"]) }, { type: "turn-began" }];
    case "result":
      return resultLine(json);
    case "command_lifecycle":
      return lifecycleLine(json);
    case "control_request":
      return requestLine(json);
    case "control_response":
      return answerLine(objectAt(json, "response"));
    default:
      // New versions bring new types; any line with a type is of the protocol.
      return typeof json?.["type"] === "string" ? [] : undefined;
  }
}

function blocksOf(json: Json): readonly Json[] {
  const content = objectAt(json, "message")["content"];
  return typeof content === "string" ? [{ type: "text", text: content }] : asObjects(content);
}

function assistantLine(json: Json): readonly ClaudeLine[] {
  const read = blocksOf(json).flatMap(assistantBlock);
  if (objectAt(json, "message")["model"] !== NO_MODEL) return read;
  return read.map((each) => (each.type === "output" ? { type: "output", text: each.text } : each));
}

function assistantBlock(block: Json): readonly ClaudeLine[] {
  if (block["type"] === "text") return said(`${asText(block["text"])}\n`);
  if (block["type"] !== "tool_use") return [];
  return output(toolCallText(`${asText(block["name"])}(${toolInputText(objectAt(block, "input"))})`));
}

function userLine(json: Json): readonly ClaudeLine[] {
  if (json["isReplay"] === true) return [{ type: "begun", uuid: asText(json["uuid"]) }];
  return blocksOf(json).flatMap((block) =>
    block["type"] === "tool_result" ? output(toolResultText(contentText(block["content"]))) : [],
  );
}

function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  return asObjects(content)
    .map((block) => (block["type"] === "text" ? asText(block["text"]) : `[${asText(block["type"])}]`))
    .join("\n");
}

/** A failed turn has already printed its explanation in place of the model's words, unless the turn was cut off. */
function resultLine(json: Json): readonly ClaudeLine[] {
  const subtype = asText(json["subtype"]);
  const ended: ClaudeLine = { type: "turn-ended", hasFailed: json["is_error"] === true || subtype.startsWith("error") };
  return subtype.startsWith("error") ? [...output(`● The turn ended: ${subtype}\n`), ended] : [ended];
}

function lifecycleLine(json: Json): readonly ClaudeLine[] {
  const uuid = asText(json["command_uuid"]);
  const state = asText(json["state"]);
  switch (state) {
    case "queued":
      return [{ type: "kept", uuid }];
    case "started":
    case "completed":
      return [{ type: "begun", uuid }];
    case "cancelled":
    case "discarded":
    case "refused":
      return [{ type: "dropped", uuid, how: state }];
    default:
      return [];
  }
}

function requestLine(json: Json): readonly ClaudeLine[] {
  const requestId = asText(json["request_id"]);
  const request = objectAt(json, "request");
  if (request["subtype"] !== "can_use_tool") return [{ type: "unknown-request", requestId }];
  const input = objectAt(request, "input");
  return [{ type: "asks", requestId, tool: asText(request["tool_name"]), input, text: toolInputText(input) }];
}

function answerLine(response: Json): readonly ClaudeLine[] {
  const requestId = asText(response["request_id"]);
  if (response["subtype"] !== "error") return [{ type: "answered", requestId }];
  return [{ type: "answered", requestId, error: asText(response["error"]) || "no reason was given" }];
}

function output(text: string): readonly Extract<ClaudeLine, { readonly type: "output" }>[] {
  return text.trim() === "" ? [] : [{ type: "output", text }];
}

/** The model's words. */
function said(text: string): readonly ClaudeLine[] {
  return output(text).map((line) => ({ ...line, modelChars: text.length }));
}
