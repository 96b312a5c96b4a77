import { asText, objectOf } from "../../../../internal/base/json-fields.ts";
import { printable } from "../../../../internal/base/printable-text.ts";
import { takeArguments } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { printJson } from "../../../../internal/threads/client/show.ts";
import { parseParticipant } from "../common/participant-of.ts";
import { withThreads } from "../common/with-threads.ts";
import type { NEW_FLAGS } from "./new-flags.ts";

export async function runNew(
  { values, positionals }: Given<typeof NEW_FLAGS>,
  context: CommandContext,
): Promise<number> {
  const [title] = takeArguments("gt threads new", positionals, ["title"]);
  const participants = (values.with ?? []).map(parseParticipant);
  return await withThreads(values, context, async (call) => {
    const { thread } = await call("create_thread", {
      ...{ title, participants, owner: values.owner, idempotency_key: values["idempotency-key"] },
    });
    if (values.json) printJson(context.out, thread);
    else context.out.line(printable`${asText(objectOf(thread)["thread_id"])}`);
    return 0;
  });
}
