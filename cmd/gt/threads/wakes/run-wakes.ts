import { asObjects } from "../../../../internal/base/json-fields.ts";
import { printable } from "../../../../internal/base/printable-text.ts";
import { takeArguments } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { printJson, printWake } from "../../../../internal/threads/client/show.ts";
import type { THREADS_FLAGS } from "../common/threads-flags.ts";
import { withThreads } from "../common/with-threads.ts";

export async function runWakes(
  { values, positionals }: Given<typeof THREADS_FLAGS>,
  context: CommandContext,
): Promise<number> {
  const [agent] = takeArguments("gt threads wakes", positionals, [], ["agent"]);
  return await withThreads(values, context, async (call) => {
    const { out } = context;
    const found = asObjects((await call("list_wakes", agent === undefined ? {} : { agent_id: agent }))["wakes"]);
    for (const wake of found) {
      if (values.json) printJson(out, wake);
      else printWake(out, wake);
    }
    if (found.length === 0 && !values.json) out.line(printable`no wakes`);
    return 0;
  });
}
