import type { Clock } from "../../internal/base/clock.ts";
import { printable } from "../../internal/base/printable-text.ts";
import type { Output } from "../../internal/cli/output.ts";
import type { RunningAgent } from "./agent-session.ts";
import type { GtCommand } from "./gt-commands.ts";
import { clockTime } from "./receipts.ts";

const STATUS_EVERY_MS = 500;

/**
 * Prints the contents of the live view as lines, for an output without a terminal: runs until `signal` aborts or the
 * agent ends. Resolves with the agent's exit code; prints its last screen if it failed.
 */
export async function followInLines(
  clock: Clock,
  out: Output,
  agent: RunningAgent,
  commands: readonly GtCommand[],
  signal: AbortSignal,
): Promise<number> {
  out.line(printable`ready: ${agent.address} at ${agent.listen} (${(agent.startMs / 1000).toFixed(1)} s)`);
  out.line(printable`in another terminal:`);
  for (const { command } of commands) out.line(printable`  ${command}`);
  out.line(printable`Ctrl-C ends it`);
  let before = "";
  for (;;) {
    const { state, alive, exitCode = 1 } = await agent.backend.status(signal);
    if (state !== before) out.line(printable`${clockTime(clock.now())}  ${state}`);
    before = state;
    if (!alive && state === "dead") return tellEnd(out, agent, exitCode, signal);
    await clock.sleep(STATUS_EVERY_MS, signal);
  }
}

async function tellEnd(out: Output, agent: RunningAgent, exitCode: number, signal: AbortSignal): Promise<number> {
  out.line(printable`the agent ended with ${exitCode}`);
  if (exitCode === 0) return 0;
  const { output } = await agent.backend.peek({ lines: 20, all: false, ansi: false, joinWrapped: true }, signal);
  out.plain(`${output.trimEnd()}\n`);
  return exitCode;
}
