import type { ErrorKind } from "../../internal/base/errors.ts";
import { printable } from "../../internal/base/printable-text.ts";
import { Output } from "../../internal/cli/output.ts";
import { type MainContext, runMain } from "../../internal/cli/run-main.ts";
import { version } from "../../internal/cli/version.ts";
import { systemFileOps } from "../../internal/files/file-ops.ts";
import { readConfig } from "./config.ts";
import { helpTexts, overview } from "./help-texts.ts";

/** As `--help` lists them. */
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

async function main({ argv, env, stdin, stdout, stderr, clock, signal }: MainContext): Promise<number> {
  const command = readConfig(argv, env);
  const [out, err] = [new Output(stdout, env), new Output(stderr, env)];
  const context = { out, err, stdin, stderr, clock, signal, ops: systemFileOps };
  switch (command.type) {
    case "help":
      stdout.write(command.topic === undefined ? overview : helpTexts[command.topic]);
      return 0;
    case "version":
      out.line(printable`bridge-ca ${version}`);
      return 0;
    case "init":
      return await (await import("./init.ts")).init(context, command);
    case "issue":
      return await (await import("./issue.ts")).issue(context, command);
    case "cross-sign":
      return await (await import("./cross-sign.ts")).crossSign(context, command);
    case "bundle":
      return await (await import("./bundle.ts")).bundle(context, command);
    case "jwt-keygen":
      return await (await import("./jwt-keygen.ts")).jwtKeygen(context, command);
    case "renew":
      return await (await import("./renew.ts")).renew(context, command);
    case "verify":
      return await (await import("./verify.ts")).verify(context, command);
    case "revoke":
      return await (await import("./revoke.ts")).revoke(context, command);
    case "crl":
      return await (await import("./crl.ts")).crl(context, command);
    case "inspect":
      return await (await import("./inspect.ts")).inspect(context, command);
  }
}

await runMain({ name: "bridge-ca", exitCodes }, main);
