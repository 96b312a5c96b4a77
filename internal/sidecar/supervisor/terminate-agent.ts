import { knownProgram, type ProfileName } from "../../agents/known-programs.ts";
import type { Clock } from "../../base/clock.ts";
import { type AgentExit, exitCodeOf } from "../../process/restart-policy.ts";
import { SESSION } from "../halves/options.ts";
import type { TmuxCall } from "./tmux-call.ts";

export interface StopDeps {
  readonly clock: Clock;
  readonly call: TmuxCall;
  /** Sends a signal to a process, or, if the number is negative, to a process group; false when there is none. */
  readonly signal: (target: number, name: NodeJS.Signals) => boolean;
}

export interface StopOrder {
  /** The time from now until the agent must have ended. */
  readonly graceMs: number;
  /** Aborted when it must not take any longer. */
  readonly hurry: AbortSignal;
}

const LOOK_EVERY_MS = 50;
/** The part of the grace period that is left for KILL and tmux itself. */
const RESERVE_MS = 1500;
/** Shares of the rest: for the agent to leave in its own way, and for the time until TERM is followed by HUP. */
const ASK_SHARE = 0.4;
const ASK_MOST_MS = 5000;
const HANG_UP_SHARE = 0.8;
/** The pause between two keys, so that a program that wants a key twice handles each press. */
const KEY_EVERY_MS = 400;
/** How often tmux is asked how the agent ended. */
const END_LOOKS = 20;
/** How late tmux may report an end. */
const KILLED_MS = 700;

/**
 * Ends the agent, a program of the profile `agent`: asks it in its own way, then sends TERM, then HUP as from a
 * terminal that goes away (shells ignore TERM), then KILL. Returns how it ended; undefined when there is no agent. Runs
 * one program for each call to tmux, because the serving half may be gone.
 */
export async function stopAgent(
  deps: StopDeps,
  agent: ProfileName,
  { graceMs, hurry }: StopOrder,
): Promise<AgentExit | undefined> {
  const { clock } = deps;
  const life = await look(deps);
  if (life === undefined || life.exit !== undefined) return life?.exit;
  const restMs = Math.max(0, graceMs - RESERVE_MS);
  const startedAt = clock.monotonicMs();
  const leftTill = (ms: number) => startedAt + ms - clock.monotonicMs();
  const wait = (ms: number) => waitForEnd(deps, ms, hurry);
  const signal = (...names: readonly NodeJS.Signals[]) => signalGroup(deps, life.pid, names);
  const steps = [
    () => ask(deps, agent, leftTill(Math.min(ASK_MOST_MS, restMs * ASK_SHARE)), hurry),
    () => signal("SIGTERM", "SIGCONT") ?? wait(leftTill(restMs * HANG_UP_SHARE)),
    () => signal("SIGHUP") ?? wait(leftTill(restMs)),
  ];
  for (const step of steps) {
    if (hurry.aborted) break;
    const end = await step();
    if (end !== undefined) return end;
  }
  signal("SIGKILL");
  return (await waitForEnd(deps, KILLED_MS)) ?? { signal: 9 };
}

/** Its exit code when it is known; 128+n for a signal. */
export function codeOfEnd(end: AgentExit | undefined): number | undefined {
  return end === undefined ? undefined : exitCodeOf(end);
}

/** Presses the keys that mean "leave" to this program, one at a time, for at most `ms`. */
async function ask(deps: StopDeps, agent: ProfileName, ms: number, hurry: AbortSignal): Promise<AgentExit | undefined> {
  const { clock, call } = deps;
  const end = clock.monotonicMs() + ms;
  for (const key of knownProgram(agent).farewell) {
    const left = end - clock.monotonicMs();
    if (left <= 0 || hurry.aborted) return undefined;
    await call("send-keys", "-t", `=${SESSION}:`, key);
    const ended = await waitForEnd(deps, Math.min(KEY_EVERY_MS, left), hurry);
    if (ended !== undefined) return ended;
  }
  return undefined;
}

async function waitForEnd(deps: StopDeps, ms: number, hurry?: AbortSignal): Promise<AgentExit | undefined> {
  const { clock } = deps;
  const end = clock.monotonicMs() + ms;
  do {
    const life = await look(deps);
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
async function look({ clock, call }: StopDeps): Promise<PaneLife | undefined> {
  let seen = await lookOnce(call);
  // tmux may report the agent as dead before it knows its exit: tmux checks when a program that it ran has ended, so
  // this runs one.
  for (let i = 0; i < END_LOOKS && seen?.isEndUnknown === true; i++) {
    await call("run-shell", "true");
    await clock.sleep(LOOK_EVERY_MS);
    seen = await lookOnce(call);
  }
  return seen;
}

async function lookOnce(call: TmuxCall): Promise<(PaneLife & { readonly isEndUnknown: boolean }) | undefined> {
  const format = "#{pane_pid} #{pane_dead} #{pane_dead_status} #{pane_dead_signal}";
  const answer = await call("list-panes", "-t", `=${SESSION}:`, "-F", format);
  const [pid = "", dead, status = "", signal = ""] = (answer?.split("\n")[0] ?? "").split(" ");
  if (!/^\d+$/.test(pid)) return undefined;
  const exit = signal === "" ? { code: Number(status === "" ? 1 : status) } : { signal: Number(signal) };
  const isEndUnknown = dead === "1" && status === "" && signal === "";
  return { pid: Number(pid), exit: dead === "1" ? exit : undefined, isEndUnknown };
}

/**
 * Signals the program's group, or the program if it has none. A pane's program leads a session of its own, so its pid
 * is also the id of its group.
 */
function signalGroup({ signal }: StopDeps, pid: number, names: readonly NodeJS.Signals[]): undefined {
  for (const name of names) if (!signal(-pid, name)) signal(pid, name);
}
