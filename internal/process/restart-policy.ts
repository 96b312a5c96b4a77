import { backoffStepMs } from "../base/backoff.ts";

/** When an agent that ended is started again. */
export type RestartMode = "always" | "on-failure" | "never";

/** How an agent's process ended: one of the two is set. */
export interface AgentExit {
  readonly code?: number;
  readonly signal?: number;
  /** The kernel killed it, or another process of its container, for lack of memory. */
  readonly outOfMemory?: true;
}

export interface EndedLife {
  readonly exit: AgentExit;
  /** How long it lived. */
  readonly livedMs: number;
  /** The `quickEnds` of the decision about the life before this one; 0 for the first life. */
  readonly quickEnds: number;
}

export type RestartDecision =
  | { readonly type: "restart"; readonly delayMs: number; readonly quickEnds: number; readonly crashLoop: boolean }
  | { readonly type: "finish"; readonly exitCode: number };

/**
 * A life that ends sooner ends quickly and adds one to the row; a longer life begins a new row, in which its own end
 * counts as the first.
 */
const STABLE_MS = 60_000;
const DELAY = { firstMs: 1000, maxMs: 60_000, factor: 2 };
/** A row of this many ends is called a crash loop. */
const CRASH_LOOP_ENDS = 5;
/** A shell's exit codes for "no such program" and "cannot be executed": another attempt does not help. */
const CANNOT_START = new Set([126, 127]);

/** Pure. The exit code of a finished agent is that of `exitCodeOf`. */
export function decideRestart(mode: RestartMode, life: EndedLife): RestartDecision {
  const exitCode = exitCodeOf(life.exit);
  const quick = life.livedMs < STABLE_MS;
  if (mode === "never") return { type: "finish", exitCode };
  if (mode === "on-failure" && exitCode === 0) return { type: "finish", exitCode };
  if (quick && life.quickEnds === 0 && CANNOT_START.has(exitCode)) return { type: "finish", exitCode };
  const quickEnds = quick ? life.quickEnds + 1 : 1;
  const delayMs = backoffStepMs(DELAY, quickEnds - 1);
  return { type: "restart", delayMs, quickEnds, crashLoop: quickEnds >= CRASH_LOOP_ENDS };
}

/** The exit code as a shell reports it: 128+n for signal n. */
export function exitCodeOf(exit: AgentExit): number {
  return exit.signal === undefined ? (exit.code ?? 1) : 128 + exit.signal;
}
