import type { DomainError } from "../../internal/base/errors.ts";
import { runProgram } from "../../internal/cli/command/run-program.ts";
import { runMain } from "../../internal/cli/run-main.ts";
import { relay } from "./program.ts";

/** The exit code of an error, as `--help` lists them. */
function exitCodeOf({ kind, fields }: DomainError): number {
  if (fields["reason"] === "listen") return 1;
  if (kind === "invalid" || kind === "unimplemented") return 2;
  if (kind === "not-found") return 3;
  return kind === "precondition" ? 6 : 4;
}

await runMain({ name: "relay", exitCodeOf }, (context) => runProgram(relay, context));
