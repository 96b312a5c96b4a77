// A consumer that follows a session's events with the SDK, as its own process, with the options of one file. Prints a
// line for each event: its number, or the reason of a gap; the last line reports the end of the stream.
import { readFileSync } from "node:fs";
import { createClient } from "../../../pkg/bridgeclient/client.ts";
import type { ClientOptions } from "../../../pkg/bridgeclient/options.ts";

const [optionsFile = "", sessionId = ""] = process.argv.slice(2);
await using client = createClient(JSON.parse(readFileSync(optionsFile, "utf8")) as ClientOptions);
for await (const { seq, text, type, gap } of client.session(sessionId).events({ subscriberId: "reader" })) {
  process.stdout.write(`${JSON.stringify({ seq: Number(seq), type, text, gap: gap?.reason })}\n`);
}
process.stdout.write('"ended"\n');
