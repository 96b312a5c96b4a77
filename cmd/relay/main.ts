import type { DomainError } from "../../internal/base/errors.ts";
import { printable } from "../../internal/base/printable-text.ts";
import { Output } from "../../internal/cli/output.ts";
import { type MainContext, runMain } from "../../internal/cli/run-main.ts";
import { version } from "../../internal/cli/version.ts";
import { withFaultLines } from "../../internal/config/report-config.ts";
import { readConfig } from "./config.ts";
import { help } from "./help.ts";

/** As `--help` lists them. */
function exitCodeOf({ kind, fields }: DomainError): number {
  if (fields["reason"] === "listen") return 1;
  if (kind === "invalid" || kind === "unimplemented") return 2;
  if (kind === "not-found") return 3;
  return kind === "precondition" ? 6 : 4;
}

async function main(context: MainContext): Promise<number> {
  const { argv, env, stdout, stderr, clock, signal } = context;
  const command = readConfig(argv, env);
  const [out, err] = [new Output(stdout, env), new Output(stderr, env)];
  const printing = { out, clock, signal };
  switch (command.type) {
    case "help":
      stdout.write(help);
      return 0;
    case "version":
      out.line(printable`relay ${version}`);
      return 0;
    case "check":
      return withFaultLines(err, async () => (await import("./check.ts")).check(command, { out, err }));
    case "serve":
      return withFaultLines(err, async () => (await import("./serve.ts")).serve(command, context));
    case "send":
      return (await import("./send.ts")).send(command, printing);
    case "results":
      return (await import("./results.ts")).results(command, printing);
    case "status":
      return (await import("./status.ts")).status(command, printing);
    case "dial":
      return (await import("./dial.ts")).dial(command, context);
    case "dead":
      return (await import("./dead.ts")).dead(command, printing);
  }
}

await runMain({ name: "relay", exitCodeOf }, main);
