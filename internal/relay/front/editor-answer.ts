import { type ExactJson, type JsonObject, member } from "../acp/json-text.ts";
import { partsOf, textIn, type WorkPart } from "./work-parts.ts";

/** The answer to an editor's prompt. */
export interface EditorAnswer {
  /** Updates to send before the response. */
  readonly updates: readonly JsonObject[];
  readonly response: { readonly result: JsonObject } | { readonly error: JsonObject };
}

/** The reasons of failures that are stop reasons in ACP. */
const STOPS: ReadonlySet<ExactJson | undefined> = new Set(["refusal", "max_tokens", "max_turn_requests"]);
/** JSON-RPC code of a failure that has no code of its own. */
export const FAILED = -32000;

/**
 * Translates the results of work, in order, into the answer to `session/prompt`.
 * @param shown the text that the editor has been shown; undefined: unknown, since updates are missing
 */
export function answerOfResults(results: readonly JsonObject[], shown: string | undefined): EditorAnswer {
  const parts = partsOf(results);
  const rest = restOf(textIn(parts), shown);
  const updates = [
    ...(rest === "" ? [] : [chunk(rest)]),
    ...parts.filter(({ type }) => type === "tool_use").map(toolCall),
  ];
  return { updates, response: responseOf(parts.at(-1)) };
}

/** The text that remains to be shown: agents that stream have shown all of it, unless its end was lost. */
function restOf(text: string, shown: string | undefined): string {
  if (shown === undefined) return "";
  return text.startsWith(shown) ? text.slice(shown.length) : "";
}

function responseOf(last: WorkPart | undefined): EditorAnswer["response"] {
  const { type, payload } = last ?? { type: undefined, payload: {} };
  if (type === "result.cancelled") return { result: { stopReason: "cancelled" } };
  if (type !== "result.failure") {
    const [usage, gaps] = [member(payload, "usage"), member(payload, "gaps")];
    const meta = { ...(usage !== undefined && { usage }), ...(gaps !== undefined && { gaps }) };
    return { result: { stopReason: "end_turn", ...(Object.keys(meta).length > 0 && { _meta: { relay: meta } }) } };
  }
  const { reason, code, error, data } = payload;
  if (typeof reason === "string" && STOPS.has(reason)) return { result: { stopReason: reason } };
  const message = typeof error === "string" ? error : "the work failed";
  return { error: { code: typeof code === "number" ? code : FAILED, message, data: { reason, data } } };
}

/** An update with the agent's text. */
function chunk(text: string): JsonObject {
  return { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
}

/** An update for a tool call that the coordinator is to run. */
function toolCall({ payload }: WorkPart): JsonObject {
  const { tool_name: name, tool_id: id, input } = payload;
  return {
    ...{ sessionUpdate: "tool_call", toolCallId: String(id), title: String(name), kind: "other", status: "pending" },
    rawInput: input,
  };
}
