import type { DomainError, ErrorKind } from "../../internal/base/errors.ts";
import { runProgram } from "../../internal/cli/command/run-program.ts";
import { runMain } from "../../internal/cli/run-main.ts";
import { gt } from "./commands.ts";

/** Usage 2, no such agent 3, unreachable or not trusted 4, refused 6; anything else is 1. */
const exitCodes: Readonly<Record<ErrorKind, number>> = {
  invalid: 2,
  "already-exists": 2,
  unimplemented: 2,
  "not-found": 3,
  unavailable: 4,
  deadline: 4,
  unauthenticated: 4,
  denied: 4,
  precondition: 4,
  exhausted: 6,
  cancelled: 6,
};

/** The codes of threads that are more specific than their kind; see docs/protocols/threads.md. */
const threadsCodes: Readonly<Record<string, number>> = {
  ...{ NOT_FOUND: 3, UNAUTHORIZED: 4, UNAVAILABLE: 4, WAKE_FAILED: 7 },
  ...{ FORBIDDEN: 6, CLAIM_MISMATCH: 6, OUT_OF_SCOPE_WORKSPACE: 6, CONFLICT: 6, IDEMPOTENCY_CONFLICT: 6 },
  ...{ VALIDATION_ERROR: 6, RATE_LIMITED: 6, INSUFFICIENT_AUTHORITY: 6, INVALID_TRANSITION: 6, THREAD_CLOSED: 6 },
  ...{ THREAD_AUTO_BLOCKED: 6, UNKNOWN_RECIPIENT: 6, UNMANAGED_RUNTIME: 6, HUMAN_INPUT_COLLISION: 6 },
};
const exitCodeOf = ({ fields }: DomainError) => threadsCodes[String(fields["code"])];

await runMain({ name: "gt", exitCodes, exitCodeOf }, (context) => runProgram(gt, context));
