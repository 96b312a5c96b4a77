import type { JsonObject } from "../acp/json-text.ts";
import { partsOf, textIn, type WorkPart } from "../front/work-parts.ts";

/** The end of a prompt's answer. */
export interface ServiceAnswer {
  /** Text to send before the end. */
  readonly rest: string;
  /** Undefined: the agent has answered. */
  readonly failure: ServiceFailure | undefined;
}

interface ServiceFailure {
  readonly message: string;
  readonly details: JsonObject;
}

const WHOLE = "\n\n[relay: parts of the text above are missing, or are of an earlier attempt. The whole text:]\n\n";

/**
 * Translates the results of work, in order.
 * @param shown the text that the caller has already been sent
 */
export function answerOf(results: readonly JsonObject[], shown: string): ServiceAnswer {
  const parts = partsOf(results);
  const calls = parts.filter(({ type }) => type === "tool_use").map(({ payload }) => payload);
  const text = textIn(parts);
  return { rest: restOf(text, shown), failure: failureOf(parts.at(-1)) ?? unansweredCall(calls) };
}

/**
 * The text that remains to be sent: all of it if it does not continue `shown`. A bridge's updates may end with white
 * space that its answer lacks.
 */
function restOf(text: string, shown: string): string {
  if (text.startsWith(shown)) return text.slice(shown.length);
  if (text === "" || shown.trimEnd() === text) return "";
  return `${WHOLE}${text}`;
}

function failureOf(last: WorkPart | undefined): ServiceFailure | undefined {
  const { type, payload } = last ?? { type: undefined, payload: {} };
  if (type === "result.cancelled") {
    return { message: `the work was cancelled by ${String(payload["by"])}`, details: { reason: "cancelled" } };
  }
  if (type !== "result.failure") return undefined;
  const { error, code, reason, data } = payload;
  const message = typeof error === "string" ? error : "the work failed";
  const details = { code, reason, data };
  return { message, details };
}

/** In this protocol a caller cannot run tools, so a turn that waits for a tool's result has no answer. */
function unansweredCall(calls: readonly JsonObject[]): ServiceFailure | undefined {
  if (calls.length === 0) return undefined;
  const names = calls.map(({ tool_name: name }) => String(name)).join(", ");
  const message = `the agent asks its coordinator to run ${names}, and waits until a tool_result is sent to its lane as work`;
  return { message, details: { reason: "tool_use", calls } };
}
