import type { ErrorKind } from "../../internal/base/errors.ts";
import { type MainContext, runMain } from "../../internal/cli/run-main.ts";
import { version } from "../../internal/cli/version.ts";
import { commandContext } from "./common/command-context.ts";
import { completionScript } from "./completion.ts";
import { readConfig } from "./config.ts";
import { helpTexts, overview } from "./help-texts.ts";

/** Usage 2, no such agent 3, unreachable or not trusted 4, refused 6; what is not here is 1. */
const exitCodes: Readonly<Record<ErrorKind, number>> = {
  invalid: 2,
  "already-exists": 2,
  unimplemented: 2,
  "not-found": 3,
  unavailable: 4,
  deadline: 4,
  unauthenticated: 4,
  denied: 4,
  precondition: 4,
  exhausted: 6,
  cancelled: 6,
};

async function main(context: MainContext): Promise<number> {
  const command = readConfig(context.argv, context.env);
  const own = commandContext(context);
  switch (command.type) {
    case "help":
      context.stdout.write(command.topic === undefined ? overview : helpTexts[command.topic]);
      return 0;
    case "version":
      own.out.line(`gt ${version}`);
      return 0;
    case "completion":
      context.stdout.write(completionScript(command.shell));
      return 0;
    case "peek":
      return await (await import("./peek/peek.ts")).peek(command, own);
    case "nudge":
      return await (await import("./nudge/nudge.ts")).nudge(command, own);
    case "respond":
      return await (await import("./respond/respond.ts")).respond(command, own);
    case "status":
      return await (await import("./status/status.ts")).status(command, own);
    case "watch":
      return await (await import("./watch/watch.ts")).watch(command, own);
    case "attach":
      return await (await import("./attach/attach.ts")).attach(command, own);
    case "agents":
      return await (await import("./agents/agents.ts")).agents(command, own);
  }
}

await runMain({ name: "gt", exitCodes }, main);
