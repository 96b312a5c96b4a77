import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Clock } from "../base/clock.ts";
import { withoutTmux } from "../tmux/environment.ts";
import { SESSION, type SidecarOptions } from "./options.ts";
import { type AgentExit, exitCodeOf } from "./restart-policy.ts";
import { statePaths } from "./state-dir.ts";

const run = promisify(execFile);

/** How long the agent may take after TERM, and tmux for one answer. */
const ASK_MS = 2000;
const LOOK_EVERY_MS = 50;
/** What is left of the grace period for KILL and tmux itself. */
const RESERVE_MS = 1500;

interface PaneLife {
  readonly pid: number;
  readonly exit: AgentExit | undefined;
}

/**
 * Asks the agent to end, with KILL after the grace time, and returns its exit code (128+n for a signal). Speaks to tmux by
 * one program a call: the serving half may be gone.
 */
export async function stopAgent(options: SidecarOptions, clock: Clock, graceMs: number): Promise<number | undefined> {
  const life = await look(options);
  if (life === undefined) return undefined;
  if (life.exit !== undefined) return exitCodeOf(life.exit);
  signalGroup(life.pid, "SIGTERM");
  const ended = await waitForEnd(options, clock, Math.max(0, graceMs - RESERVE_MS));
  if (ended !== undefined) return exitCodeOf(ended);
  signalGroup(life.pid, "SIGKILL");
  const killed = await waitForEnd(options, clock, RESERVE_MS / 2);
  return killed === undefined ? 128 + 9 : exitCodeOf(killed);
}

async function waitForEnd(options: SidecarOptions, clock: Clock, ms: number): Promise<AgentExit | undefined> {
  const end = clock.monotonicMs() + ms;
  do {
    const life = await look(options);
    if (life?.exit !== undefined) return life.exit;
    if (life === undefined) return {};
    await clock.sleep(LOOK_EVERY_MS);
  } while (clock.monotonicMs() < end);
  return undefined;
}

/** Undefined when tmux or the session is gone. */
async function look({ tmuxProgram, stateDir, env }: SidecarOptions): Promise<PaneLife | undefined> {
  const format = "#{pane_pid} #{pane_dead} #{pane_dead_status} #{pane_dead_signal}";
  const args = ["-N", "-S", statePaths(stateDir).tmuxSocket, "list-panes", "-t", `=${SESSION}:`, "-F", format];
  try {
    const { stdout } = await run(tmuxProgram, args, { env: withoutTmux(env), timeout: ASK_MS, killSignal: "SIGKILL" });
    const [pid = "", dead, status = "", signal = ""] = (stdout.split("\n")[0] ?? "").split(" ");
    if (!/^\d+$/.test(pid)) return undefined;
    const exit = signal === "" ? { code: Number(status === "" ? 1 : status) } : { signal: Number(signal) };
    return { pid: Number(pid), exit: dead === "1" ? exit : undefined };
  } catch {
    return undefined;
  }
}

/** A pane's program leads a session of its own, so its pid names the group of all it started there. */
function signalGroup(pid: number, signal: NodeJS.Signals): void {
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, signal);
      return;
    } catch {
      // no such group or process
    }
  }
}
