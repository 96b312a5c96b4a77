import { DomainError, type ErrorKind } from "../../base/errors.ts";

/** Codes of errors, as callers see them; each belongs to one kind of a DomainError. */
const KINDS = {
  UNAUTHORIZED: "unauthenticated",
  FORBIDDEN: "denied",
  CLAIM_MISMATCH: "denied",
  OUT_OF_SCOPE_WORKSPACE: "denied",
  NOT_FOUND: "not-found",
  CONFLICT: "precondition",
  IDEMPOTENCY_CONFLICT: "already-exists",
  VALIDATION_ERROR: "invalid",
  RATE_LIMITED: "exhausted",
  INSUFFICIENT_AUTHORITY: "denied",
  INVALID_TRANSITION: "precondition",
  THREAD_CLOSED: "precondition",
  THREAD_AUTO_BLOCKED: "precondition",
  UNKNOWN_RECIPIENT: "invalid",
  WAKE_FAILED: "unavailable",
  UNMANAGED_RUNTIME: "precondition",
  HUMAN_INPUT_COLLISION: "precondition",
  UNAVAILABLE: "unavailable",
} as const satisfies Readonly<Record<string, ErrorKind>>;

export type ThreadsCode = keyof typeof KINDS;

type Details = Readonly<Record<string, string | number | boolean>>;

/** A failure with a code of ours in the field `code`; `details` are facts for programs. */
export function threadsError(code: ThreadsCode, message: string, details: Details = {}, cause?: unknown): DomainError {
  return new DomainError(KINDS[code], message, { fields: { ...details, code }, ...(cause !== undefined && { cause }) });
}

/** The code of ours that any DomainError has. */
export function codeOf(err: DomainError): ThreadsCode {
  const code = err.fields["code"];
  if (typeof code === "string" && Object.hasOwn(KINDS, code)) return code as ThreadsCode;
  return BY_KIND[err.kind];
}

/** A later call may succeed without a change. */
export function isRetryable(code: ThreadsCode): boolean {
  return code === "UNAVAILABLE" || code === "RATE_LIMITED" || code === "CONFLICT" || code === "WAKE_FAILED";
}

const BY_KIND: Readonly<Record<ErrorKind, ThreadsCode>> = {
  invalid: "VALIDATION_ERROR",
  "not-found": "NOT_FOUND",
  "already-exists": "IDEMPOTENCY_CONFLICT",
  precondition: "CONFLICT",
  exhausted: "RATE_LIMITED",
  unauthenticated: "UNAUTHORIZED",
  denied: "FORBIDDEN",
  unavailable: "UNAVAILABLE",
  deadline: "UNAVAILABLE",
  cancelled: "UNAVAILABLE",
  unimplemented: "NOT_FOUND",
};

/** At most 20 names, for an error that lists what there is. */
export function namesOf(names: readonly string[]): string {
  const shown = [...new Set(names)].slice(0, 20);
  return shown.length === 0 ? "none" : shown.join(", ");
}
