import { asObjects, asText } from "../../../../internal/base/json-fields.ts";
import { printable } from "../../../../internal/base/printable-text.ts";
import { takeArguments } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { printJson, printMessage } from "../../../../internal/threads/client/show.ts";
import { threadIdOf, withThreads } from "../common/with-threads.ts";
import type { SEARCH_FLAGS } from "./search-flags.ts";

export async function runSearch(
  { values, positionals }: Given<typeof SEARCH_FLAGS>,
  context: CommandContext,
): Promise<number> {
  const [words] = takeArguments("gt threads search", positionals, [], ["words"]);
  const { thread, sender, event, status, since, until, limit } = values;
  return await withThreads(values, context, async (call) => {
    const { out } = context;
    const answer = await call("search_messages", {
      ...{ query: words, sender, event_type: event, status, since, until, limit },
      thread_id: thread && (await threadIdOf(call, thread)),
    });
    const hits = asObjects(answer["hits"]);
    for (const message of hits) {
      if (values.json) printJson(out, message);
      else {
        out.line(out.paint("dim", printable`${asText(message["thread_id"])}`));
        printMessage(out, message);
      }
    }
    if (hits.length === 0 && !values.json) out.line(printable`nothing found`);
    return 0;
  });
}
