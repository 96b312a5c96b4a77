import type { Clock } from "../../internal/base/clock.ts";
import type { Output } from "../../internal/cli/output.ts";
import type { RunningAgent } from "./agent-session.ts";
import type { GtCommand } from "./gt-commands.ts";
import { clockTime } from "./receipts.ts";

const STATUS_EVERY_MS = 500;

/** What the live view shows, as lines, where nobody looks at a terminal: runs until `signal` aborts. */
export async function followInLines(
  clock: Clock,
  out: Output,
  agent: RunningAgent,
  commands: readonly GtCommand[],
  signal: AbortSignal,
): Promise<never> {
  out.line(`ready: ${agent.address} at ${agent.listen} (${(agent.startMs / 1000).toFixed(1)} s)`);
  out.line("in another terminal:");
  for (const { command } of commands) out.line(`  ${command}`);
  out.line("Ctrl-C ends it");
  let before = "";
  for (;;) {
    const { state } = await agent.backend.status(signal);
    if (state !== before) out.line(`${clockTime(clock.now())}  ${state}`);
    before = state;
    await clock.sleep(STATUS_EVERY_MS, signal);
  }
}
