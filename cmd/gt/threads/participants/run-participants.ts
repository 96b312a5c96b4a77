import { asObjects } from "../../../../internal/base/json-fields.ts";
import { takeArguments } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { printJson, printParticipants } from "../../../../internal/threads/client/show.ts";
import { parseParticipant } from "../common/participant-of.ts";
import { threadIdOf, withThreads } from "../common/with-threads.ts";
import type { PARTICIPANTS_FLAGS } from "./participants-flags.ts";

export async function runParticipants(
  { values, positionals }: Given<typeof PARTICIPANTS_FLAGS>,
  context: CommandContext,
): Promise<number> {
  const [given = ""] = takeArguments("gt threads participants", positionals, ["thread"]);
  const { add = [], remove = [], wake } = values;
  return await withThreads(values, context, async (call) => {
    const { out } = context;
    const thread_id = await threadIdOf(call, given);
    const isChange = add.length + remove.length > 0 || wake !== undefined;
    const change = { thread_id, add: add.map(parseParticipant), remove, wake };
    const answer = isChange ? await call("manage_participants", change) : await call("get_thread", { thread_id });
    if (!values.json) printParticipants(out, answer["participants"]);
    else for (const one of asObjects(answer["participants"])) printJson(out, one);
    return 0;
  });
}
