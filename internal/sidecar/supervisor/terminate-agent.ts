import { knownProgram } from "../../agents/known-programs.ts";
import type { Clock } from "../../base/clock.ts";
import { type AgentExit, exitCodeOf } from "../../process/restart-policy.ts";
import { SESSION, type SidecarOptions } from "../halves/options.ts";
import { callTmux } from "./tmux-call.ts";

export interface StopOrder {
  /** From now to KILL. */
  readonly graceMs: number;
  /** Aborted when it must not take any longer. */
  readonly hurry: AbortSignal;
}

const LOOK_EVERY_MS = 50;
/** What is left of the grace period for KILL and tmux itself. */
const RESERVE_MS = 1500;
/** Shares of the rest: for the agent's own way, and till TERM is followed by HUP. */
const ASK_SHARE = 0.4;
const ASK_MOST_MS = 5000;
const HANG_UP_SHARE = 0.8;
/** Between two keys: programs that want a key twice take it for two when they come together. */
const KEY_EVERY_MS = 400;
/** How often tmux is asked how the agent ended. */
const END_LOOKS = 20;
/** An end that tmux tells a moment late. */
const KILLED_MS = 700;

/**
 * Ends the agent: asked in its own way, then TERM, then HUP as from a terminal that goes away (shells heed no TERM),
 * then KILL. Returns how it ended; undefined when there is no agent. Speaks to tmux by one program a call: the serving
 * half may be gone.
 */
export async function stopAgent(
  options: SidecarOptions,
  clock: Clock,
  { graceMs, hurry }: StopOrder,
): Promise<AgentExit | undefined> {
  const life = await look(options, clock);
  if (life === undefined || life.exit !== undefined) return life?.exit;
  const restMs = Math.max(0, graceMs - RESERVE_MS);
  const startedAt = clock.monotonicMs();
  const leftTill = (ms: number) => startedAt + ms - clock.monotonicMs();
  const wait = (ms: number) => waitForEnd(options, clock, ms, hurry);
  const steps = [
    () => ask(options, clock, leftTill(Math.min(ASK_MOST_MS, restMs * ASK_SHARE)), hurry),
    () => signalGroup(life.pid, "SIGTERM", "SIGCONT") ?? wait(leftTill(restMs * HANG_UP_SHARE)),
    () => signalGroup(life.pid, "SIGHUP") ?? wait(leftTill(restMs)),
  ];
  for (const step of steps) {
    if (hurry.aborted) break;
    const end = await step();
    if (end !== undefined) return end;
  }
  signalGroup(life.pid, "SIGKILL");
  return (await waitForEnd(options, clock, KILLED_MS)) ?? { signal: 9 };
}

/** Its exit code when it is known; 128+n for a signal. */
export function codeOfEnd(end: AgentExit | undefined): number | undefined {
  return end === undefined ? undefined : exitCodeOf(end);
}

/** Keys that mean "leave" to this program, one at a time, for as long as they may take effect. */
async function ask(
  options: SidecarOptions,
  clock: Clock,
  ms: number,
  hurry: AbortSignal,
): Promise<AgentExit | undefined> {
  const end = clock.monotonicMs() + ms;
  for (const key of knownProgram(options.agent).farewell) {
    const left = end - clock.monotonicMs();
    if (left <= 0 || hurry.aborted) return undefined;
    await callTmux(clock, options, "send-keys", "-t", `=${SESSION}:`, key);
    const ended = await waitForEnd(options, clock, Math.min(KEY_EVERY_MS, left), hurry);
    if (ended !== undefined) return ended;
  }
  return undefined;
}

async function waitForEnd(
  options: SidecarOptions,
  clock: Clock,
  ms: number,
  hurry?: AbortSignal,
): Promise<AgentExit | undefined> {
  const end = clock.monotonicMs() + ms;
  do {
    const life = await look(options, clock);
    if (life === undefined) return {};
    if (life.exit !== undefined) return life.exit;
    await clock.sleep(LOOK_EVERY_MS, hurry).catch(() => {});
  } while (clock.monotonicMs() < end && hurry?.aborted !== true);
  return undefined;
}

interface PaneLife {
  readonly pid: number;
  readonly exit: AgentExit | undefined;
}

/** Undefined when tmux or the session is gone. */
async function look(options: SidecarOptions, clock: Clock): Promise<PaneLife | undefined> {
  let seen = await lookOnce(options, clock);
  // tmux may tell that it is dead before it knows how that came: it looks when a program of its own has ended.
  for (let i = 0; i < END_LOOKS && seen?.endIsUnknown === true; i++) {
    await callTmux(clock, options, "run-shell", "true");
    await clock.sleep(LOOK_EVERY_MS);
    seen = await lookOnce(options, clock);
  }
  return seen;
}

async function lookOnce(
  options: SidecarOptions,
  clock: Clock,
): Promise<(PaneLife & { readonly endIsUnknown: boolean }) | undefined> {
  const format = "#{pane_pid} #{pane_dead} #{pane_dead_status} #{pane_dead_signal}";
  const answer = await callTmux(clock, options, "list-panes", "-t", `=${SESSION}:`, "-F", format);
  const [pid = "", dead, status = "", signal = ""] = (answer?.split("\n")[0] ?? "").split(" ");
  if (!/^\d+$/.test(pid)) return undefined;
  const exit = signal === "" ? { code: Number(status === "" ? 1 : status) } : { signal: Number(signal) };
  const endIsUnknown = dead === "1" && status === "" && signal === "";
  return { pid: Number(pid), exit: dead === "1" ? exit : undefined, endIsUnknown };
}

/** A pane's program leads a session of its own, so its pid names the group of all it started there. */
function signalGroup(pid: number, ...signals: readonly NodeJS.Signals[]): undefined {
  for (const signal of signals) if (!send(-pid, signal)) send(pid, signal);
}

function send(target: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(target, signal);
  } catch {
    return false; // no such group or process
  }
}
