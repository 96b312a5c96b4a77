import { asObjects } from "../../../../internal/base/json-fields.ts";
import { printable } from "../../../../internal/base/printable-text.ts";
import { takeArguments } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { printJson, threadLine } from "../../../../internal/threads/client/show.ts";
import { withThreads } from "../common/with-threads.ts";
import type { LS_FLAGS } from "./ls-flags.ts";

export async function runLs({ values, positionals }: Given<typeof LS_FLAGS>, context: CommandContext): Promise<number> {
  takeArguments("gt threads ls", positionals, []);
  return await withThreads(values, context, async (call) => {
    const { out } = context;
    let count = 0;
    for (let cursor: unknown; ; ) {
      const input = { limit: 100, status: values.status ?? [], unread_only: values.unread || undefined };
      const answer = await call("list_threads", { ...input, cursor: typeof cursor === "string" ? cursor : undefined });
      for (const thread of asObjects(answer["threads"])) {
        count++;
        if (values.json) printJson(out, thread);
        else out.line(threadLine(out, thread));
      }
      cursor = answer["next_cursor"];
      if (typeof cursor !== "string") break;
    }
    if (count === 0 && !values.json) out.line(printable`no threads`);
    return 0;
  });
}
