import { DomainError } from "../../../../internal/base/errors.ts";
import { asText } from "../../../../internal/base/json-fields.ts";
import { printable } from "../../../../internal/base/printable-text.ts";
import { parseStrictJson } from "../../../../internal/base/strict-json.ts";
import { takeArguments } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { printJson } from "../../../../internal/threads/client/show.ts";
import { untilWoken, WAKE_WAIT_MS } from "../common/until-woken.ts";
import { threadIdOf, withThreads } from "../common/with-threads.ts";
import type { POST_FLAGS } from "./post-flags.ts";

const MAX_BYTES = 65_536;

export async function runPost(
  { values, positionals }: Given<typeof POST_FLAGS>,
  context: CommandContext,
): Promise<number> {
  const [given = "", text = ""] = takeArguments("gt threads post", positionals, ["thread", "text"]);
  const body = text === "-" ? await standardInput(context) : text;
  const metadata = values.metadata === undefined ? undefined : metadataOf(values.metadata);
  return await withThreads(values, context, async (call) => {
    const { out } = context;
    const thread_id = await threadIdOf(call, given);
    const answer = await call("post_message", {
      ...{ thread_id, text: body, to: values.to ?? [], to_role: values.role ?? [] },
      ...{ in_reply_to: values.reply, event_type: values.event, metadata },
      urgency: values.urgent ? "urgent" : values.quiet ? "quiet" : undefined,
      idempotency_key: values["idempotency-key"],
    });
    if (values.json) printJson(out, answer);
    else out.line(printable`#${Number(answer["seq"])} ${asText(answer["message_id"])}`);
    if (!values.wait) return 0;
    const recipients = (answer["recipients"] as readonly string[] | undefined) ?? [];
    return await untilWoken(call, context, {
      recipients,
      json: values.json === true,
      forMs: values.timeout ?? WAKE_WAIT_MS,
    });
  });
}

async function standardInput({ stdin }: CommandContext): Promise<string> {
  let text = "";
  for await (const chunk of stdin.setEncoding("utf8")) {
    text += chunk;
    if (Buffer.byteLength(text) > MAX_BYTES)
      throw new DomainError("invalid", `the text is larger than ${MAX_BYTES} bytes`);
  }
  return text.replace(/\n$/, "");
}

function metadataOf(text: string): unknown {
  try {
    return parseStrictJson(text);
  } catch {
    throw new DomainError("invalid", "--metadata is not a JSON object");
  }
}
