import type { ErrorKind } from "../../internal/base/errors.ts";
import { runProgram } from "../../internal/cli/command/run-program.ts";
import { runMain } from "../../internal/cli/run-main.ts";
import { gtController } from "./program.ts";

/** The exit code of each kind of error. */
const exitCodes: Readonly<Record<ErrorKind, number>> = {
  invalid: 2,
  unimplemented: 2,
  "not-found": 3,
  "already-exists": 4,
  precondition: 4,
  exhausted: 4,
  denied: 4,
  unauthenticated: 4,
  unavailable: 4,
  deadline: 4,
  cancelled: 130,
};

await runMain({ name: "gt-controller", exitCodes }, (context) => runProgram(gtController, context));
