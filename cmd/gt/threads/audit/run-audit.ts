import { asObjects, asText, objectOf } from "../../../../internal/base/json-fields.ts";
import { PrintableText, printable } from "../../../../internal/base/printable-text.ts";
import { takeArguments, usageError } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { printJson } from "../../../../internal/threads/client/show.ts";
import { type CallOperation, withThreads } from "../common/with-threads.ts";
import type { AUDIT_FLAGS } from "./audit-flags.ts";

const BROKEN = 7;

export async function runAudit(
  { values, positionals }: Given<typeof AUDIT_FLAGS>,
  context: CommandContext,
): Promise<number> {
  const [word] = takeArguments("gt threads audit", positionals, [], ["verify"]);
  if (word !== undefined && word !== "verify") {
    throw usageError("gt threads audit", `gt threads audit takes verify or no argument, not ${JSON.stringify(word)}`);
  }
  return await withThreads(values, context, async (call) => {
    const { out } = context;
    if (word === "verify") return await verify(call, context, values.json === true);
    const { after: after_seq, limit } = values;
    const entries = asObjects((await call("list_audit", { after_seq, limit }))["entries"]);
    for (const one of entries) {
      if (values.json) {
        printJson(out, one);
        continue;
      }
      const what = [asText(one["action"]), asText(one["thread_id"])].filter((text) => text !== "").join(" ");
      const head = printable`${Number(one["seq"])}  ${asText(one["at"])}  ${asText(one["actor"])}  ${what}`;
      out.line(printable`${head}  ${PrintableText.json(objectOf(one["detail"]))}`);
    }
    if (entries.length === 0 && !values.json) out.line(printable`no entries`);
    return 0;
  });
}

async function verify(call: CallOperation, { out }: CommandContext, json: boolean): Promise<number> {
  const answer = await call("verify_audit", {});
  const broken = asObjects(answer["broken"]);
  if (json) printJson(out, answer);
  else {
    out.line(
      printable`${Number(answer["checked"])} rows checked, ${broken.length === 0 ? "none" : `${broken.length}`} broken`,
    );
    for (const one of broken) {
      const where = asText(one["thread_id"]);
      out.line(printable`  ${where === "" ? "audit" : where} #${Number(one["seq"])}`);
    }
  }
  return broken.length === 0 ? 0 : BROKEN;
}
