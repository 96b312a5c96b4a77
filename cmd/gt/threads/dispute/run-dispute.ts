import { objectOf } from "../../../../internal/base/json-fields.ts";
import { takeArguments } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { printJson, threadLine } from "../../../../internal/threads/client/show.ts";
import { threadIdOf, withThreads } from "../common/with-threads.ts";
import type { DISPUTE_FLAGS } from "./dispute-flags.ts";

export async function runDispute(
  { values, positionals }: Given<typeof DISPUTE_FLAGS>,
  context: CommandContext,
): Promise<number> {
  const [given = ""] = takeArguments("gt threads dispute", positionals, ["thread"]);
  return await withThreads(values, context, async (call) => {
    const { out } = context;
    const thread_id = await threadIdOf(call, given);
    const before = objectOf((await call("get_thread", { thread_id }))["thread"]);
    const answer = await call("update_thread_status", {
      ...{ thread_id, expected_version: before["version"], disputed: values.clear !== true },
      reason: values.reason,
    });
    const thread = objectOf(answer["thread"]);
    if (values.json) printJson(out, thread);
    else out.line(threadLine(out, thread));
    return 0;
  });
}
