import { createInterface } from "node:readline";
import { DomainError } from "../../../../internal/base/errors.ts";
import { PrintableText } from "../../../../internal/base/printable-text.ts";
import { takeArguments } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { McpPipe } from "../../../../internal/threads/client/mcp-pipe.ts";
import type { THREADS_FLAGS } from "../common/threads-flags.ts";
import { threadsHere } from "../common/with-threads.ts";

export async function runMcp(
  { values, positionals }: Given<typeof THREADS_FLAGS>,
  { env, clock, stdin, out, signal }: CommandContext,
): Promise<number> {
  takeArguments("gt threads mcp", positionals, []);
  // The server is looked up for each message, so that a server which starts later is found.
  const place = () => {
    const { token, ...at } = threadsHere({ env, clock }, values);
    return { ...at, token: token() };
  };
  const pipe = new McpPipe(clock, place, (line) => out.line(PrintableText.json(JSON.parse(line))));
  const lines = createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY });
  signal.addEventListener("abort", () => lines.close(), { once: true });
  try {
    for await (const line of lines) pipe.send(line);
  } catch (err) {
    // An error while reading the input counts as the end of the input.
    const isInputs = err instanceof Error && "syscall" in err && err.syscall === "read";
    if (!(err instanceof DomainError) && !signal.aborted && !isInputs) throw err;
  }
  await pipe.end();
  return 0;
}
