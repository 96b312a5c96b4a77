import { asText } from "../../../../internal/base/json-fields.ts";
import { printable } from "../../../../internal/base/printable-text.ts";
import { takeArguments } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { printJson } from "../../../../internal/threads/client/show.ts";
import { threadIdOf, withThreads } from "../common/with-threads.ts";
import type { PAUSE_FLAGS } from "./pause-flags.ts";

export async function runPause(
  { values, positionals }: Given<typeof PAUSE_FLAGS>,
  context: CommandContext,
): Promise<number> {
  takeArguments("gt threads pause", positionals, []);
  return await withThreads(values, context, async (call) => {
    const answer = await call("pause", {
      agent_id: values.agent,
      thread_id: values.thread && (await threadIdOf(call, values.thread)),
      for_ms: values.for,
    });
    if (values.json) printJson(context.out, answer);
    else context.out.line(printable`paused until ${asText(answer["paused_until"])}`);
    return 0;
  });
}
