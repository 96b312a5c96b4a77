import { DomainError, type ErrorKind } from "../base/errors.ts";
import { asText, objectOf } from "../base/json-fields.ts";

/** The meaning of an error response, as far as callers distinguish it. */
export type KubeFault =
  | "already-exists"
  | "conflict" // the object's resourceVersion or uid is not the one that the request names
  | "gone" // the resourceVersion or the continue token is too old, or newer than the server's data
  | "not-found"
  | "invalid"
  | "forbidden" // RBAC, admission or quota; the message says which
  | "unauthenticated"
  | "overloaded"
  | "server";

/**
 * The API server responded with an error. The kind is never `unauthenticated` or `denied`, which would describe *our
 * caller*: the request used the controller's own credentials.
 */
export class KubeApiError extends DomainError {
  readonly fault: KubeFault;
  readonly status: number;
  /** The server's message; empty: none. */
  readonly answer: string;
  /** How long the server asks to wait before the next attempt, ms. */
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

/** There was no response: the connection was refused, reset or cut off, or the certificate is not trusted. */
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
  /** The `reason` of each cause. */
  readonly causes: readonly string[];
}

/** The longest message that is kept. */
const MAX_MESSAGE = 1_024;

/** Parses a `v1.Status`; any other value gives empty fields. */
export function statusAnswer(value: unknown): StatusAnswer {
  const status = objectOf(value);
  const causes = objectOf(status["details"])["causes"];
  return {
    reason: asText(status["reason"]),
    message: asText(status["message"]).slice(0, MAX_MESSAGE),
    causes: Array.isArray(causes) ? causes.map((cause) => asText(objectOf(cause)["reason"])) : [],
  };
}

/** True if the error is an error response with this meaning. */
export function isFault(err: unknown, fault: KubeFault): err is KubeApiError {
  return err instanceof KubeApiError && err.fault === fault;
}

function faultOf(status: number, answer: StatusAnswer): KubeFault {
  // Sent with 504 if the server's data is older than the version that the request names. After a restore of etcd, the
  // data never catches up.
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
