import { DomainError } from "../../../../internal/base/errors.ts";
import { asObjects, asText, type Json } from "../../../../internal/base/json-fields.ts";
import { printable } from "../../../../internal/base/printable-text.ts";
import { parseStrictJson } from "../../../../internal/base/strict-json.ts";
import { takeArguments } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { printJson, printWake } from "../../../../internal/threads/client/show.ts";
import { type Call, threadIdOf, withThreads } from "../common/with-threads.ts";
import type { POST_FLAGS } from "./post-flags.ts";

const MAX_BYTES = 65_536;
const WAIT_MS = 60_000;
const LOOK_MS = 300;
const NOT_YET = 5;
const NO_PROOF = 7;
const OPEN = ["PENDING", "CLAIMED", "QUEUED", "DEFERRED"];

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
      ...(values.reply !== undefined && { in_reply_to: values.reply }),
      ...(values.event !== undefined && { event_type: values.event }),
      ...(metadata !== undefined && { metadata }),
      ...(values.urgent ? { urgency: "urgent" } : values.quiet && { urgency: "quiet" }),
      ...(values.key !== undefined && { idempotency_key: values.key }),
    });
    if (values.json) printJson(out, answer);
    else out.line(printable`#${Number(answer["seq"])} ${asText(answer["message_id"])}`);
    if (!values.wait) return 0;
    const recipients = (answer["recipients"] as readonly string[] | undefined) ?? [];
    return await untilWoken(call, context, {
      recipients,
      json: values.json === true,
      forMs: values.timeout ?? WAIT_MS,
    });
  });
}

/** Follows the newest wake of each recipient to its receipt. */
async function untilWoken(
  call: Call,
  { clock, out, signal }: CommandContext,
  {
    recipients,
    json,
    forMs,
  }: { readonly recipients: readonly string[]; readonly json: boolean; readonly forMs: number },
): Promise<number> {
  const end = clock.monotonicMs() + forMs;
  for (;;) {
    const wakes = await newestOf(call, recipients);
    const isOver = wakes.every((wake) => !OPEN.includes(asText(wake["state"])));
    if (!isOver && clock.monotonicMs() < end) {
      await clock.sleep(LOOK_MS, signal);
      continue;
    }
    for (const wake of wakes) {
      if (json) printJson(out, wake);
      else printWake(out, wake);
    }
    if (wakes.some((wake) => ["UNKNOWN", "FAILED"].includes(asText(wake["state"])))) return NO_PROOF;
    return isOver ? 0 : NOT_YET;
  }
}

async function newestOf(call: Call, recipients: readonly string[]): Promise<readonly Json[]> {
  const found = await Promise.all(
    recipients.map(async (agent) => asObjects((await call("list_wakes", { agent_id: agent, limit: 1 }))["wakes"])[0]),
  );
  return found.filter((one) => one !== undefined);
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
