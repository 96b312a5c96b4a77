import { objectOf } from "../../../../internal/base/json-fields.ts";
import { printable } from "../../../../internal/base/printable-text.ts";
import { takeArguments, usageError } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { printJson } from "../../../../internal/threads/client/show.ts";
import type { THREADS_FLAGS } from "../common/threads-flags.ts";
import { threadIdOf, withThreads } from "../common/with-threads.ts";

export async function runAck(
  { values, positionals }: Given<typeof THREADS_FLAGS>,
  context: CommandContext,
): Promise<number> {
  const [given = "", seqText] = takeArguments("gt threads ack", positionals, ["thread"], ["seq"]);
  if (seqText !== undefined && !/^\d{1,15}$/.test(seqText)) {
    throw usageError("gt threads ack", `seq is a whole number, not ${JSON.stringify(seqText)}`);
  }
  return await withThreads(values, context, async (call) => {
    const thread_id = await threadIdOf(call, given);
    const last = async () => Number(objectOf((await call("get_thread", { thread_id }))["thread"])["last_seq"]);
    const seq = seqText === undefined ? await last() : Number(seqText);
    const answer = await call("ack_read", { thread_id, seq });
    if (values.json) printJson(context.out, answer);
    else
      context.out.line(
        printable`seen up to #${Number(answer["last_seen_seq"])}, ${Number(answer["unread_count"])} unread`,
      );
    return 0;
  });
}
