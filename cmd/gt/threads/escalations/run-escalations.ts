import { asObjects, objectOf } from "../../../../internal/base/json-fields.ts";
import { printable } from "../../../../internal/base/printable-text.ts";
import { takeArguments, usageError } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { printEscalation, printJson } from "../../../../internal/threads/client/show.ts";
import { withThreads } from "../common/with-threads.ts";
import type { ESCALATIONS_FLAGS } from "./escalations-flags.ts";

export async function runEscalations(
  { values, positionals }: Given<typeof ESCALATIONS_FLAGS>,
  context: CommandContext,
): Promise<number> {
  const [escalation_id] = takeArguments("gt threads escalations", positionals, [], ["id"]);
  const change = values.acknowledge ? "acknowledge_escalation" : values.resolve ? "resolve_escalation" : undefined;
  if ((escalation_id === undefined) !== (change === undefined) || (values.acknowledge && values.resolve)) {
    throw usageError("gt threads escalations", "an id goes with --acknowledge or --resolve");
  }
  return await withThreads(values, context, async (call) => {
    const { out } = context;
    const found =
      change === undefined
        ? asObjects(
            (await call("list_escalations", values.state === undefined ? {} : { state: values.state }))["escalations"],
          )
        : [objectOf((await call(change, { escalation_id }))["escalation"])];
    for (const one of found) {
      if (values.json) printJson(out, one);
      else printEscalation(out, one);
    }
    if (found.length === 0 && !values.json) out.line(printable`no escalations`);
    return 0;
  });
}
