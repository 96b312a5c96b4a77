import { printable } from "../../internal/base/printable-text.ts";
import { Output } from "../../internal/cli/output.ts";
import { type MainContext, runMain } from "../../internal/cli/run-main.ts";
import { version } from "../../internal/cli/version.ts";
import { withFaultLines } from "../../internal/config/report-config.ts";
import { readConfig } from "./config.ts";
import { help } from "./help.ts";

async function main(context: MainContext): Promise<number> {
  const { argv, env, stdout, stderr } = context;
  const command = readConfig(argv, env);
  const [out, err] = [new Output(stdout, env), new Output(stderr, env)];
  switch (command.type) {
    case "help":
      stdout.write(help);
      return 0;
    case "version":
      out.line(printable`bridge ${version}`);
      return 0;
    case "check":
      return await withFaultLines(err, async () =>
        (await import("./check.ts")).check(command, { ...context, out, err }),
      );
    case "run":
      return await withFaultLines(err, async () => (await import("./run.ts")).run(command, { ...context, out, err }));
  }
}

await runMain({ name: "bridge" }, main);
