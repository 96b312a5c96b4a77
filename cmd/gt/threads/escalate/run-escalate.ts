import { asText } from "../../../../internal/base/json-fields.ts";
import { printable } from "../../../../internal/base/printable-text.ts";
import { takeArguments } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { printJson } from "../../../../internal/threads/client/show.ts";
import { threadIdOf, withThreads } from "../common/with-threads.ts";
import type { ESCALATE_FLAGS } from "./escalate-flags.ts";

export async function runEscalate(
  { values, positionals }: Given<typeof ESCALATE_FLAGS>,
  context: CommandContext,
): Promise<number> {
  const [given = "", reason] = takeArguments("gt threads escalate", positionals, ["thread", "reason"]);
  return await withThreads(values, context, async (call) => {
    const { out } = context;
    const answer = await call("escalate_thread", {
      ...{ thread_id: await threadIdOf(call, given), reason, severity: values.severity ?? "medium" },
      owner: values.owner,
    });
    if (values.json) printJson(out, answer);
    else out.line(printable`${asText(answer["escalation_id"])} to ${asText(answer["owner"])}`);
    return 0;
  });
}
