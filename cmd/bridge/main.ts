import { printable } from "../../internal/base/printable-text.ts";
import { Output } from "../../internal/cli/output.ts";
import { type MainContext, runMain } from "../../internal/cli/run-main.ts";
import { version } from "../../internal/cli/version.ts";
import { readConfig } from "./config.ts";
import { ConfigError } from "./file/config-fault.ts";
import { help } from "./help.ts";

async function main(context: MainContext): Promise<number> {
  const { argv, env, stdout, stderr } = context;
  const command = readConfig(argv, env);
  const [out, err] = [new Output(stdout, env), new Output(stderr, env)];
  try {
    switch (command.type) {
      case "help":
        stdout.write(help);
        return 0;
      case "version":
        out.line(printable`bridge ${version}`);
        return 0;
      case "check":
        return await (await import("./check.ts")).check(command, { ...context, out, err });
      case "run":
        return await (await import("./run.ts")).run(command, { ...context, out, err });
    }
  } catch (error) {
    if (error instanceof ConfigError) for (const line of error.lines) err.line(printable`${line}`);
    throw error;
  }
}

await runMain({ name: "bridge" }, main);
