import { asText, objectOf } from "../../../../internal/base/json-fields.ts";
import { printable } from "../../../../internal/base/printable-text.ts";
import { takeArguments } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import {
  printEscalation,
  printJson,
  printMessage,
  printWake,
  threadLine,
} from "../../../../internal/threads/client/show.ts";
import type { ThreadsClient } from "../../../../internal/threads/client/threads-client.ts";
import { connectAgain } from "../../common/text/watch-again.ts";
import type { THREADS_FLAGS } from "../common/threads-flags.ts";
import { withThreads } from "../common/with-threads.ts";
import { LiveWatch } from "./live-watch.ts";
import { WatchView } from "./watch-view.ts";

/** Shows a live screen on a terminal; elsewhere, and as JSON, prints each update. */
export async function runThreadsWatch(
  { values, positionals }: Given<typeof THREADS_FLAGS>,
  context: CommandContext,
): Promise<number> {
  takeArguments("gt threads watch", positionals, []);
  return await withThreads(values, context, async (call, client) => {
    if (values.json || !context.out.redraws) return await printUpdates(client, values.json === true, context);
    const who = await call("whoami", {});
    return await new LiveWatch(call, client, context, {
      workspace: asText(who["workspace_id"]),
      me: asText(who["agent_id"]),
    }).run();
  });
}

async function printUpdates(
  client: ThreadsClient,
  isJson: boolean,
  { clock, signal, note, out }: CommandContext,
): Promise<number> {
  const after = new Map<string, number>();
  const view = new WatchView();
  const open = () => client.watch(after, signal);
  for await (const update of connectAgain(open, { clock, signal, lost: note, back: note })) {
    view.take(update);
    const { message, thread, wake, escalation } = update;
    if (isJson) printJson(out, update);
    else if (thread !== undefined) out.line(threadLine(out, objectOf(thread)));
    else if (wake !== undefined) printWake(out, objectOf(wake));
    else if (escalation !== undefined) printEscalation(out, objectOf(escalation));
    else if (message !== undefined) {
      const threadId = asText(objectOf(message)["thread_id"]);
      out.line(printable`${threadId}  ${view.thread(threadId)?.title ?? ""}`);
      printMessage(out, objectOf(message));
    }
  }
  return 0;
}
