import type { ErrorKind } from "../../internal/base/errors.ts";
import { createLogger } from "../../internal/base/logger.ts";
import { printable } from "../../internal/base/printable-text.ts";
import { Output } from "../../internal/cli/output.ts";
import { type MainContext, runMain } from "../../internal/cli/run-main.ts";
import { version } from "../../internal/cli/version.ts";
import { reportConfig, withFaultLines } from "../../internal/config/report-config.ts";
import { type ClusterFlags, type Command, readConfig } from "./config.ts";
import { help } from "./help.ts";

/** As `--help` lists them. */
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

async function main(context: MainContext): Promise<number> {
  const command = readConfig(context.argv, context.env);
  return await withFaultLines(new Output(context.stderr, context.env), () => run(command, context));
}

async function run(command: Command, { env, stdout, stderr, clock, signal }: MainContext): Promise<number> {
  const out = new Output(stdout, env);
  const contextOf = ({ logLevel }: ClusterFlags) => ({
    out,
    clock,
    signal,
    logger: createLogger("gt-controller", logLevel ?? "info"),
  });
  switch (command.type) {
    case "help":
      stdout.write(help);
      return 0;
    case "version":
      out.line(printable`gt-controller ${version}`);
      return 0;
    case "check":
      reportConfig(
        (await import("./open-config.ts")).openConfig(command.configFile).findings,
        out,
        new Output(stderr, env),
      );
      return 0;
    case "serve":
      return await (await import("./run.ts")).run(command, { clock, signal });
    case "init-ca":
      return await (await import("./init-ca.ts")).initCa(contextOf(command), command);
    case "rotate-ca":
      return await (await import("./rotate-ca.ts")).rotateCa(contextOf(command), command);
    case "uninstall":
      return await (await import("./uninstall.ts")).uninstall(contextOf(command), command);
  }
}

await runMain({ name: "gt-controller", exitCodes }, main);
