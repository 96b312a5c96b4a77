import { asObjects, asText } from "../../../../internal/base/json-fields.ts";
import { printable } from "../../../../internal/base/printable-text.ts";
import { takeArguments } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { printJson, printMessage } from "../../../../internal/threads/client/show.ts";
import type { THREADS_FLAGS } from "../common/threads-flags.ts";
import { withThreads } from "../common/with-threads.ts";

export async function runInbox(
  { values, positionals }: Given<typeof THREADS_FLAGS>,
  context: CommandContext,
): Promise<number> {
  takeArguments("gt threads inbox", positionals, []);
  return await withThreads(values, context, async (call) => {
    const { out } = context;
    const messages = asObjects((await call("read_messages", { limit: 200 }))["messages"]);
    let last = "";
    for (const message of messages) {
      const threadId = asText(message["thread_id"]);
      if (values.json) printJson(out, message);
      else {
        if (threadId !== last) out.line(out.paint("bold", printable`── ${threadId}`));
        printMessage(out, message);
      }
      last = threadId;
    }
    if (messages.length === 0 && !values.json) out.line(printable`nothing new`);
    return 0;
  });
}
