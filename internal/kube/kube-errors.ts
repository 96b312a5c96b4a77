import { DomainError, type ErrorKind } from "../base/errors.ts";
import { asText, objectOf } from "../base/json-fields.ts";

/** What the API server means by an error, as far as callers decide by it. */
export type KubeFault =
  | "already-exists"
  | "conflict" // another resourceVersion or uid than the request names
  | "gone" // the resourceVersion or the continue token is too old, or newer than the server's data
  | "not-found"
  | "invalid"
  | "forbidden" // RBAC, admission or quota; the message says which
  | "unauthenticated"
  | "overloaded"
  | "server";

/**
 * The API server answered with an error. Its kind never says that *our caller* is unauthenticated or denied: the
 * request was made with the controller's own credentials.
 */
export class KubeApiError extends DomainError {
  readonly fault: KubeFault;
  readonly status: number;
  /** The server's own words; empty: none. */
  readonly answer: string;
  /** What the server asks to wait before the next attempt. */
  readonly retryAfterMs: number | undefined;

  constructor(action: string, status: number, answer: StatusAnswer, retryAfterMs?: number) {
    const fault = faultOf(status, answer);
    const message = answer.message === "" ? `status ${status}` : answer.message;
    super(KINDS[fault], `cannot ${action}: ${message}`, { fields: { status, reason: answer.reason } });
    this.fault = fault;
    this.status = status;
    this.answer = answer.message;
    this.retryAfterMs = retryAfterMs;
  }
}

/** No answer came: refused, reset, cut off, a certificate that is not trusted. */
export class KubeUnreachableError extends DomainError {
  constructor(action: string, cause: unknown) {
    super("unavailable", `cannot ${action}: the Kubernetes API does not answer (${codeOf(cause)})`, { cause });
  }
}

const KINDS: Readonly<Record<KubeFault, ErrorKind>> = {
  "already-exists": "already-exists",
  conflict: "precondition",
  gone: "unavailable",
  "not-found": "not-found",
  invalid: "invalid",
  forbidden: "precondition",
  unauthenticated: "unavailable",
  overloaded: "unavailable",
  server: "unavailable",
};

/** The facts of a `v1.Status`. */
export interface StatusAnswer {
  readonly reason: string;
  readonly message: string;
  /** `reason` of each of its causes. */
  readonly causes: readonly string[];
}

/** At most this much of a message is kept. */
const MAX_MESSAGE = 1_024;

/** Reads a `v1.Status`; anything else has no reason, no message and no causes. */
export function statusAnswer(value: unknown): StatusAnswer {
  const status = objectOf(value);
  const causes = objectOf(status["details"])["causes"];
  return {
    reason: asText(status["reason"]),
    message: asText(status["message"]).slice(0, MAX_MESSAGE),
    causes: Array.isArray(causes) ? causes.map((cause) => asText(objectOf(cause)["reason"])) : [],
  };
}

/** Whether it is an error of the API server that means this. */
export function isFault(err: unknown, fault: KubeFault): err is KubeApiError {
  return err instanceof KubeApiError && err.fault === fault;
}

function faultOf(status: number, answer: StatusAnswer): KubeFault {
  // Sent with 504 where the server's data is older than the request: after a restore of etcd the two never meet.
  const isFromTheFuture = answer.causes.includes("ResourceVersionTooLarge") || TOO_LARGE.test(answer.message);
  if (status === 410 || isFromTheFuture) return "gone";
  if (status === 409) return answer.reason === "AlreadyExists" ? "already-exists" : "conflict";
  if (status === 404) return "not-found";
  if (status === 403) return "forbidden";
  if (status === 401) return "unauthenticated";
  if (status === 429) return "overloaded";
  return status >= 500 ? "server" : "invalid";
}

const TOO_LARGE = /^Too large resource version/i;

function codeOf(cause: unknown): string {
  const { code, name } = objectOf(cause);
  return asText(code) || asText(name) || "unknown error";
}
