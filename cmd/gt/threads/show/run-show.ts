import { asObjects, asText, objectOf } from "../../../../internal/base/json-fields.ts";
import { printable } from "../../../../internal/base/printable-text.ts";
import { takeArguments } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import {
  printJson,
  printMessage,
  printParticipants,
  printWake,
  threadLine,
} from "../../../../internal/threads/client/show.ts";
import { allMessages } from "../common/all-messages.ts";
import type { THREADS_FLAGS } from "../common/threads-flags.ts";
import { threadIdOf, withThreads } from "../common/with-threads.ts";

export async function runShow(
  { values, positionals }: Given<typeof THREADS_FLAGS>,
  context: CommandContext,
): Promise<number> {
  const [given = ""] = takeArguments("gt threads show", positionals, ["thread"]);
  return await withThreads(values, context, async (call) => {
    const { out } = context;
    const threadId = await threadIdOf(call, given);
    const found = await call("get_thread", { thread_id: threadId });
    const messages = await allMessages(call, threadId);
    const wakes = asObjects((await call("list_wakes", { thread_id: threadId }))["wakes"]).toReversed();
    if (values.json) {
      printJson(out, { ...found, messages, wakes });
      return 0;
    }
    const thread = objectOf(found["thread"]);
    out.line(threadLine(out, { ...thread, unread_count: found["unread_count"] }));
    const owner = asText(thread["owner"]);
    if (owner !== "") out.line(printable`owner ${owner}`);
    if (asText(thread["status_reason"]) !== "") out.line(printable`${asText(thread["status_reason"])}`);
    printParticipants(out, found["participants"]);
    out.line();
    for (const message of asObjects(messages)) printMessage(out, message);
    if (wakes.length > 0) out.line();
    for (const wake of wakes) printWake(out, wake);
    return 0;
  });
}
