import type { DomainError } from "../../internal/base/errors.ts";
import { runProgram } from "../../internal/cli/command/run-program.ts";
import { runMain } from "../../internal/cli/run-main.ts";
import { threads } from "./program.ts";

/** Exit codes by the field `problem` of an error, as `--help` lists them. */
const PROBLEMS: Readonly<Record<string, number>> = { database: 3, schema: 3, "no-postgres": 3, key: 4, folder: 5 };

function exitCodeOf({ fields, kind }: DomainError): number | undefined {
  const problem = fields["problem"];
  if (typeof problem === "string" && Object.hasOwn(PROBLEMS, problem)) return PROBLEMS[problem];
  if (fields["code"] === "UNAVAILABLE") return 3;
  return kind === "not-found" ? 4 : undefined;
}

const exitCodes = { unavailable: 3 };

await runMain({ name: "threads", exitCodeOf, exitCodes }, (context) => runProgram(threads, context));
