import type { Json, JsonObject } from "./json-text.ts";
import { writeJson } from "./json-text.ts";

/** One message of an answer, before it has an envelope. */
export interface ResultPart {
  readonly type: "tool_use" | "result.success" | "result.partial" | "result.failure" | "result.cancelled";
  readonly payload: JsonObject;
}

/** Failures that the relay itself finds, with their codes. */
export type FailureReason = "uncertain" | "deadline" | "too_large" | "attempts" | "agent_lost" | "agent_protocol";

const CODES: Readonly<Record<FailureReason, number>> = {
  uncertain: -32001,
  deadline: -32002,
  too_large: -32003,
  attempts: -32004,
  agent_lost: -32005,
  agent_protocol: -32006,
};

/** A `result.failure` of the relay's own. */
export function failure(reason: FailureReason, error: string): ResultPart {
  return { type: "result.failure", payload: { error, code: CODES[reason], reason } };
}

/** A `result.cancelled`. `by`: the name of a person or program, `agent` or `bridge`. */
export function cancellation(by: string): ResultPart {
  return { type: "result.cancelled", payload: { by } };
}

/** Stands for an answer that is longer than the relay, or the server, takes. */
export const ANSWER_TOO_LARGE: ResultPart = failure("too_large", "the agent's answer is too large");

export interface ResultPlace {
  readonly id: string;
  readonly sessionId: string;
  /** Counted from 1. */
  readonly part: number;
  readonly parts: number;
}

/** The body that is published for a part: `part` and `parts` stand in it when there are several. */
export function resultBody({ type, payload }: ResultPart, { id, sessionId, part, parts }: ResultPlace): string {
  const body: Record<string, Json> = { id, session_id: sessionId, type, payload };
  return writeJson(parts === 1 ? body : { ...body, part, parts });
}
