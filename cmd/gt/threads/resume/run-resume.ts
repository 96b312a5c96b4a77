import { printable } from "../../../../internal/base/printable-text.ts";
import { takeArguments } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { printJson } from "../../../../internal/threads/client/show.ts";
import { threadIdOf, withThreads } from "../common/with-threads.ts";
import type { RESUME_FLAGS } from "./resume-flags.ts";

export async function runResume(
  { values, positionals }: Given<typeof RESUME_FLAGS>,
  context: CommandContext,
): Promise<number> {
  takeArguments("gt threads resume", positionals, []);
  return await withThreads(values, context, async (call) => {
    const answer = await call("resume", {
      agent_id: values.agent,
      thread_id: values.thread && (await threadIdOf(call, values.thread)),
    });
    if (values.json) printJson(context.out, answer);
    else context.out.line(printable`resumed`);
    return 0;
  });
}
