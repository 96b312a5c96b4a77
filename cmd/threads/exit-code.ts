import type { DomainError } from "../../internal/base/errors.ts";

/** Exit codes by the field `problem` of an error. */
const PROBLEMS: Readonly<Record<string, number>> = { database: 3, schema: 3, "no-postgres": 3, key: 4, folder: 5 };

/** The exit code of an error, as `--help` lists them; undefined: the code of its kind in every program. */
export function threadsExitCode({ kind, fields }: DomainError): number | undefined {
  const problem = fields["problem"];
  if (typeof problem === "string" && Object.hasOwn(PROBLEMS, problem)) return PROBLEMS[problem];
  if (fields["reason"] === "listen") return 1;
  if (fields["code"] === "UNAVAILABLE" || kind === "unavailable") return 3;
  return kind === "not-found" ? 4 : undefined;
}
