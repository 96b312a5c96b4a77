import { DomainError, type ErrorKind } from "../../base/errors.ts";

/** Error codes of the API, each with the kind of DomainError that carries it. */
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

/** Creates a DomainError with an error code in the field `code`; `details` become further fields, for programs. */
export function threadsError(code: ThreadsCode, message: string, details: Details = {}, cause?: unknown): DomainError {
  return new DomainError(KINDS[code], message, { fields: { ...details, code }, cause });
}

/** The error code of a DomainError: its field `code`, else the default of its kind. */
export function threadsCodeOf(err: DomainError): ThreadsCode {
  const code = err.fields["code"];
  if (typeof code === "string" && Object.hasOwn(KINDS, code)) return code as ThreadsCode;
  return BY_KIND[err.kind];
}

/** The fields of an error of this kind that has no code of its own. */
export function fieldsOfKind(kind: ErrorKind): { readonly code: ThreadsCode } {
  return { code: BY_KIND[kind] };
}

/** Whether the same call may succeed later. */
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

/** Joins at most 20 distinct names for the hint of an error; `none` if there are none. */
export function namesOf(names: readonly string[]): string {
  const shown = [...new Set(names)].slice(0, 20);
  return shown.length === 0 ? "none" : shown.join(", ");
}
