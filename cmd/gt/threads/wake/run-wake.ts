import { takeArguments, usageError } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { untilWoken, WAKE_WAIT_MS } from "../common/until-woken.ts";
import { threadIdOf, withThreads } from "../common/with-threads.ts";
import type { WAKE_FLAGS } from "./wake-flags.ts";

export async function runWake(
  { values, positionals }: Given<typeof WAKE_FLAGS>,
  context: CommandContext,
): Promise<number> {
  const [given = "", agent_id = ""] = takeArguments("gt threads wake", positionals, ["thread", "agent"]);
  const { reason, force = false, json = false } = values;
  if (reason === undefined) throw usageError("gt threads wake", "--reason is needed: wakes are audited");
  return await withThreads(values, context, async (call) => {
    await call("trigger_participant", { thread_id: await threadIdOf(call, given), agent_id, reason, force });
    const forMs = values.wait ? (values.timeout ?? WAKE_WAIT_MS) : 0;
    return await untilWoken(call, context, { recipients: [agent_id], json, forMs });
  });
}
