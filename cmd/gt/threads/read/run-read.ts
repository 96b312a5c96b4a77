import { asObjects } from "../../../../internal/base/json-fields.ts";
import { printable } from "../../../../internal/base/printable-text.ts";
import { takeArguments } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { printJson, printMessage } from "../../../../internal/threads/client/show.ts";
import { allMessages } from "../common/all-messages.ts";
import { threadIdOf, withThreads } from "../common/with-threads.ts";
import type { READ_FLAGS } from "./read-flags.ts";

const LONGEST_MS = 25_000;
const NOTHING_NEW = 5;

export async function runRead(
  { values, positionals }: Given<typeof READ_FLAGS>,
  context: CommandContext,
): Promise<number> {
  const [given = ""] = takeArguments("gt threads read", positionals, ["thread"]);
  return await withThreads(values, context, async (call) => {
    const { out } = context;
    const thread_id = await threadIdOf(call, given);
    const isNew = values.new === true || values.wait !== undefined;
    const from = values.after !== undefined ? { after_seq: values.after } : isNew ? {} : { after_seq: 0 };
    const waitMs = Math.min(values.wait ?? 0, LONGEST_MS);
    const first = await call("read_messages", { thread_id, ...from, limit: 200, wait_ms: waitMs });
    // The answer then has only the caller's own messages, which are not new to it.
    const timedOut = first["timed_out"] === true;
    const shown = timedOut ? [] : [...asObjects(first["messages"])];
    if (shown.length === 200) shown.push(...(await allMessages(call, thread_id, Number(first["next_after_seq"]))));
    for (const message of shown) {
      if (values.json) printJson(out, message);
      else printMessage(out, message);
    }
    const last = shown.at(-1);
    if (values.ack && last !== undefined) await call("ack_read", { thread_id, seq: Number(last["seq"]) });
    if (shown.length === 0 && !values.json) out.line(printable`nothing new`);
    return values.wait !== undefined && timedOut ? NOTHING_NEW : 0;
  });
}
