import type { DomainError } from "../../internal/base/errors.ts";
import { printable } from "../../internal/base/printable-text.ts";
import { Output } from "../../internal/cli/output.ts";
import { type MainContext, runMain } from "../../internal/cli/run-main.ts";
import { version } from "../../internal/cli/version.ts";
import { readConfig } from "./config.ts";
import { help } from "./help.ts";

/** By what stands in the way, in the field `problem`; as `--help` lists them. */
const PROBLEMS: Readonly<Record<string, number>> = { database: 3, schema: 3, "no-postgres": 3, key: 4, folder: 5 };

function exitCodeOf({ fields, kind }: DomainError): number | undefined {
  const problem = fields["problem"];
  if (typeof problem === "string" && Object.hasOwn(PROBLEMS, problem)) return PROBLEMS[problem];
  if (fields["code"] === "UNAVAILABLE") return 3;
  return kind === "not-found" ? 4 : undefined;
}

async function main(context: MainContext): Promise<number> {
  const { argv, env, stdout } = context;
  const command = readConfig(argv, env);
  const out = new Output(stdout, env);
  switch (command.type) {
    case "help":
      stdout.write(help);
      return 0;
    case "version":
      out.line(printable`threads ${version}`);
      return 0;
    case "serve":
      return await (await import("./serve.ts")).serve(command, context);
    case "token":
      return await (await import("./token.ts")).token(command, { ...context, out });
    case "migrate":
      return await (await import("./migrate.ts")).migrateDatabase(command, { ...context, out });
    case "doctor":
      return await (await import("./doctor.ts")).doctor(command, { ...context, out });
  }
}

await runMain({ name: "threads", exitCodeOf, exitCodes: { unavailable: 3 } }, main);
