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
  // A server that starts later is found by the request that comes then.
  const place = () => {
    const { token, ...at } = threadsHere({ env, clock }, values);
    return { ...at, token: token() };
  };
  const pipe = new McpPipe(place, (line) => out.line(PrintableText.json(JSON.parse(line))));
  const lines = createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY });
  signal.addEventListener("abort", () => lines.close(), { once: true });
  try {
    for await (const line of lines) pipe.send(line);
  } catch (err) {
    // An input that cannot be read any more is its end.
    const isInputs = err instanceof Error && "syscall" in err && err.syscall === "read";
    if (!(err instanceof DomainError) && !signal.aborted && !isInputs) throw err;
  }
  await pipe.end();
  return 0;
}
