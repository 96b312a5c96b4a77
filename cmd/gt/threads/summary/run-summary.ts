import { asText } from "../../../../internal/base/json-fields.ts";
import { printable } from "../../../../internal/base/printable-text.ts";
import { takeArguments } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { printJson } from "../../../../internal/threads/client/show.ts";
import { threadIdOf, withThreads } from "../common/with-threads.ts";
import type { SUMMARY_FLAGS } from "./summary-flags.ts";

export async function runSummary(
  { values, positionals }: Given<typeof SUMMARY_FLAGS>,
  context: CommandContext,
): Promise<number> {
  const [given = ""] = takeArguments("gt threads summary", positionals, ["thread"]);
  return await withThreads(values, context, async (call) => {
    const { out } = context;
    const answer = await call("summarize_thread", {
      thread_id: await threadIdOf(call, given),
      ...{ max_bytes: values.bytes, text: values.store },
    });
    if (values.json) printJson(out, answer);
    else for (const line of asText(answer["text"]).split("\n")) out.line(printable`${line}`);
    return 0;
  });
}
