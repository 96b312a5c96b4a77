import { createInterface } from "node:readline";
import { DomainError } from "../../internal/base/errors.ts";
import { runMain } from "../../internal/cli/run-main.ts";
import { version } from "../../internal/cli/version.ts";
import { DemoAgent } from "../../internal/demo/agent.ts";
import { FileOutside } from "../../internal/demo/outside.ts";
import { StdioAgent } from "../../internal/demo/stdio-agent.ts";
import { ProcessTerminal } from "../../internal/demo/terminal.ts";
import { help, readConfig } from "./config.ts";
import { ThreadWork } from "./thread-work.ts";

await runMain({ name: "demo-agent" }, async ({ argv, env, stdin, stdout, signal, clock }) => {
  const config = readConfig(argv, env);
  if (config.ask !== undefined) {
    stdout.write(config.ask === "help" ? help : `demo-agent ${version}\n`);
    return 0;
  }
  const files = new FileOutside(config.paths, String(process.pid));
  const { threads } = config;
  const outside = threads === undefined ? files : new ThreadWork(files, threads, { env, clock, signal });
  if (config.stdio) {
    const write = (text: string) => stdout.write(text);
    const lines = createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY });
    return new StdioAgent({ lines, write, outside, clock }, config.options).run(signal);
  }
  if (!stdin.isTTY || !stdout.isTTY) {
    const hint = "start it in a terminal, or as a sidecar's agent: gt-sidecar --agent demo";
    throw new DomainError("precondition", "the demo agent needs a terminal", { fields: { hint } });
  }
  const agent = new DemoAgent({ terminal: new ProcessTerminal(stdin, stdout), outside, clock }, config.options);
  return agent.run(signal);
});
