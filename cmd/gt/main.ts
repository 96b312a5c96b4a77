import type { ErrorKind } from "../../internal/base/errors.ts";
import { runProgram } from "../../internal/cli/command/run-program.ts";
import { runMain } from "../../internal/cli/run-main.ts";
import { gt } from "./commands.ts";

/** Usage 2, no such agent 3, unreachable or not trusted 4, refused 6; what is not here is 1. */
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

await runMain({ name: "gt", exitCodes }, (context) => runProgram(gt, context));
