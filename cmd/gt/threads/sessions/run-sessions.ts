import { asObjects, asText } from "../../../../internal/base/json-fields.ts";
import { printable } from "../../../../internal/base/printable-text.ts";
import { takeArguments } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { printJson } from "../../../../internal/threads/client/show.ts";
import type { THREADS_FLAGS } from "../common/threads-flags.ts";
import { withThreads } from "../common/with-threads.ts";

export async function runThreadSessions(
  { values, positionals }: Given<typeof THREADS_FLAGS>,
  context: CommandContext,
): Promise<number> {
  takeArguments("gt threads sessions", positionals, []);
  return await withThreads(values, context, async (call) => {
    const { out } = context;
    const found = asObjects((await call("list_sessions", {}))["sessions"]);
    for (const one of found) {
      if (values.json) {
        printJson(out, one);
        continue;
      }
      const place = one["managed"] === true ? asText(one["runtime"]) : "unmanaged";
      const facts = printable`${asText(one["state"])}, ${place}, ${asText(one["last_heartbeat_at"])}`;
      out.line(printable`${asText(one["session_id"])}  ${asText(one["agent_id"])}  ${facts}`);
    }
    if (found.length === 0 && !values.json) out.line(printable`no sessions`);
    return 0;
  });
}
