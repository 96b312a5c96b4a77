import type { ExactJson, JsonObject } from "./json-text.ts";
import { writeJson } from "./json-text.ts";

/** One message of an answer, without its envelope. */
export interface ResultPart {
  readonly type: "tool_use" | "result.success" | "result.partial" | "result.failure" | "result.cancelled";
  readonly payload: JsonObject;
}

/** The reasons of failures that the relay itself reports. */
export type FailureReason = "uncertain" | "deadline" | "too_large" | "attempts" | "agent_lost" | "agent_protocol";

const CODES: Readonly<Record<FailureReason, number>> = {
  uncertain: -32001,
  deadline: -32002,
  too_large: -32003,
  attempts: -32004,
  agent_lost: -32005,
  agent_protocol: -32006,
};

/** A `result.failure` that the relay itself reports. */
export function failure(reason: FailureReason, error: string): ResultPart {
  return { type: "result.failure", payload: { error, code: CODES[reason], reason } };
}

/** The `result.failure` of work that is rejected, with the code of a reason that has one. */
export function rejection(reason: string): ResultPart {
  const code = Object.hasOwn(CODES, reason) ? CODES[reason as FailureReason] : undefined;
  return { type: "result.failure", payload: { error: `the work was rejected: ${reason}`, code, reason } };
}

/**
 * The reason of a failure that the relay reports, otherwise the agent's numeric code; never the agent's text.
 * Undefined: the part is not a failure.
 */
export function failureCode({ type, payload: { reason, code } }: ResultPart): string | undefined {
  if (type !== "result.failure") return undefined;
  if (typeof reason === "string" && Object.hasOwn(CODES, reason)) return reason;
  return typeof code === "number" ? String(code) : "agent";
}

/** A `result.cancelled`. `by`: the name of a person or program, `agent` or `bridge`. */
export function cancellation(by: string): ResultPart {
  return { type: "result.cancelled", payload: { by } };
}

/** Replaces an answer that is longer than the relay, or NATS, accepts. */
export const ANSWER_TOO_LARGE: ResultPart = failure("too_large", "the agent's answer is too large");

export interface ResultPlace {
  readonly id: string;
  readonly sessionId: string;
  /** The part's number, from 1. */
  readonly part: number;
  readonly parts: number;
}

/** The body to publish for a part. It has `part` and `parts` if the answer has several parts. */
export function resultBody({ type, payload }: ResultPart, { id, sessionId, part, parts }: ResultPlace): string {
  const body: Record<string, ExactJson> = { id, session_id: sessionId, type, payload };
  return writeJson(parts === 1 ? body : { ...body, part, parts });
}
