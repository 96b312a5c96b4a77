// A consumer that follows a session's events with the SDK, as a process of its own, with the options of one file. Each
// event is a line: its number, or the reason of a gap; the last line says that the stream has ended.
import { readFileSync } from "node:fs";
import { createClient } from "../../../pkg/bridgeclient/client.ts";
import type { ClientOptions } from "../../../pkg/bridgeclient/options.ts";

const [optionsFile = "", sessionId = ""] = process.argv.slice(2);
await using client = createClient(JSON.parse(readFileSync(optionsFile, "utf8")) as ClientOptions);
for await (const { seq, text, type, gap } of client.session(sessionId).events({ subscriberId: "reader" })) {
  process.stdout.write(`${JSON.stringify({ seq: Number(seq), type, text, ...(gap && { gap: gap.reason }) })}\n`);
}
process.stdout.write('"ended"\n');
