import { type Json, objectOf } from "../../../../internal/base/json-fields.ts";
import { PrintableText, printable } from "../../../../internal/base/printable-text.ts";
import { usageError } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { printJson } from "../../../../internal/threads/client/show.ts";
import type { THREADS_FLAGS } from "../common/threads-flags.ts";
import { withThreads } from "../common/with-threads.ts";

export async function runPolicy(
  { values, positionals }: Given<typeof THREADS_FLAGS>,
  context: CommandContext,
): Promise<number> {
  const changes = Object.fromEntries(positionals.map(changeOf));
  return await withThreads(values, context, async (call) => {
    const { out } = context;
    const isRead = positionals.length === 0;
    const answer: Json = isRead ? await call("get_policy", {}) : await call("set_policy", { policy: changes });
    const policy = objectOf(answer["policy"]);
    if (values.json) printJson(out, policy);
    else {
      for (const [name, value] of Object.entries(policy)) {
        out.line(printable`${name.padEnd(18)} ${PrintableText.json(value)}`);
      }
    }
    return 0;
  });
}

function changeOf(text: string): readonly [string, unknown] {
  const at = text.indexOf("=");
  if (at < 1) throw usageError("gt threads policy", `KEY=VALUE, not ${JSON.stringify(text)}`);
  const value = text.slice(at + 1);
  try {
    return [text.slice(0, at), JSON.parse(value) as unknown];
  } catch {
    return [text.slice(0, at), value];
  }
}
