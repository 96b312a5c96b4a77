import type { ErrorKind } from "../../internal/base/errors.ts";
import { runProgram } from "../../internal/cli/command/run-program.ts";
import { runMain } from "../../internal/cli/run-main.ts";
import { systemFileOps } from "../../internal/files/file-ops.ts";
import { bridgeCa } from "./program.ts";

/** The exit codes that `--help` lists. */
const exitCodes: Readonly<Record<ErrorKind, number>> = {
  invalid: 2,
  unimplemented: 2,
  "not-found": 3,
  "already-exists": 3,
  exhausted: 3,
  denied: 4,
  unauthenticated: 5,
  precondition: 5,
  unavailable: 6,
  deadline: 6,
  cancelled: 130,
};

await runMain({ name: "bridge-ca", exitCodes }, (context) => runProgram(bridgeCa(systemFileOps), context));
