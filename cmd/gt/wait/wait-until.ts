import { firstOf } from "../../../internal/base/abort.ts";
import type { Clock } from "../../../internal/base/clock.ts";
import { DomainError } from "../../../internal/base/errors.ts";
import type { AgentStatus } from "../../../internal/session/agent-status.ts";
import type { Backend } from "../../../internal/terminal/backend.ts";
import { isReached, type WaitGoal } from "./wait-goal.ts";

/**
 * The result of a wait. `status`: as seen last; absent when only the end of the stream shows that the agent is dead, or
 * when the goal was not reached because the session never started to run.
 */
export interface WaitEnd {
  readonly reached: boolean;
  readonly status?: AgentStatus;
}

interface WaitOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
}

const LOOK_EVERY_MS = 250;
/** One look at a local agent takes up to two seconds. */
const LOOK_MS = 5000;
/** A sidecar whose serving half restarts is away for less than this. */
const AWAY_MS = 10_000;

/**
 * Polls until the agent has reached the goal, has ended, or `timeoutMs` have passed; looks at least once. A session
 * that its control plane is starting has no agent to look at yet.
 * @throws DomainError as `Backend.status`: at once when no connection can be made at the first look; after 10 s when a
 *   call has no answer, or when the agent cannot be reached later
 */
export async function waitUntil(
  goal: WaitGoal,
  backend: Pick<Backend, "status" | "watch">,
  options: WaitOptions,
  signal: AbortSignal,
): Promise<WaitEnd> {
  try {
    return await lookUntil(goal, backend, options, signal);
  } catch (err) {
    // The control plane knows that the session has ended; its last state can no longer be read.
    if (goal === "dead" && sessionOf(err) === "ended") return { reached: true };
    throw err;
  }
}

async function lookUntil(
  goal: WaitGoal,
  backend: Pick<Backend, "status" | "watch">,
  { clock, timeoutMs }: WaitOptions,
  signal: AbortSignal,
): Promise<WaitEnd> {
  const end = clock.monotonicMs() + timeoutMs;
  const first = await firstStatus(backend, { clock, end }, signal);
  if (first === undefined) return { reached: false };
  if (isReached(goal, first)) return { reached: true, status: first };
  if (isOver(first)) return { reached: false, status: first };
  await using death = goal === "dead" ? watchEnd(backend, signal) : undefined;
  let last = { status: first, at: clock.monotonicMs() };
  while (clock.monotonicMs() < end) {
    const pause = (stop: AbortSignal) =>
      clock.sleep(Math.max(1, Math.min(LOOK_EVERY_MS, end - clock.monotonicMs())), stop);
    await (death === undefined ? pause(signal) : firstOf(signal, pause, () => death.seen));
    if (death?.hasEnded()) return { reached: true };
    const status = await look(backend, last.at, clock, signal);
    if (status === undefined) continue;
    if (isReached(goal, status)) return { reached: true, status };
    if (isOver(status)) return { reached: false, status };
    last = { status, at: clock.monotonicMs() };
  }
  return { reached: false, status: last.status };
}

/** True if the agent's process has ended and no restart is due: the state is final. */
function isOver(status: AgentStatus): boolean {
  return isReached("dead", status);
}

/** Undefined: its session was still starting at `end`. */
async function firstStatus(
  backend: Pick<Backend, "status">,
  { clock, end }: { readonly clock: Clock; readonly end: number },
  signal: AbortSignal,
): Promise<AgentStatus | undefined> {
  const begun = clock.monotonicMs();
  for (;;) {
    let failure: unknown;
    try {
      return await statusOf(backend, signal);
    } catch (err) {
      failure = err;
    }
    const now = clock.monotonicMs();
    const isStarting = sessionOf(failure) === "starting";
    const mayPass = isStarting || (isSlow(failure) && now - begun < AWAY_MS && now < end);
    if (!mayPass || signal.aborted) throw failure;
    if (now >= end) return undefined;
    await clock.sleep(Math.min(LOOK_EVERY_MS, end - now), signal);
  }
}

/** The session's state that a control plane reports when it cannot reach the session. */
function sessionOf(err: unknown): unknown {
  return err instanceof DomainError ? err.fields["session"] : undefined;
}

/** True if the agent is slow, or its control plane cannot reach it; false for an address where nothing listens. */
function isSlow(err: unknown): boolean {
  return sessionOf(err) === "away" || (err instanceof DomainError && err.kind === "deadline");
}

/** Undefined: the agent cannot be reached at the moment. */
async function look(
  backend: Pick<Backend, "status">,
  lastAt: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<AgentStatus | undefined> {
  try {
    return await statusOf(backend, signal);
  } catch (err) {
    const mayPass = err instanceof DomainError && (err.kind === "unavailable" || err.kind === "deadline");
    if (!mayPass || signal.aborted || clock.monotonicMs() - lastAt >= AWAY_MS) throw err;
    return undefined;
  }
}

async function statusOf(backend: Pick<Backend, "status">, signal: AbortSignal): Promise<AgentStatus> {
  const patience = AbortSignal.timeout(LOOK_MS);
  try {
    return await backend.status(AbortSignal.any([signal, patience]));
  } catch (err) {
    if (signal.aborted || !patience.aborted) throw err;
    throw new DomainError("deadline", `no answer in ${LOOK_MS} ms`);
  }
}

/** A sidecar may exit right after its agent, before the next call: the end of an open stream shows it. */
function watchEnd(backend: Pick<Backend, "watch">, signal: AbortSignal) {
  const stop = new AbortController();
  let ended = false;
  const watch = async () => {
    const request = { mode: "screen", lines: 1, intervalMs: 1000, ansi: false, epoch: "" } as const;
    for await (const update of backend.watch(request, AbortSignal.any([signal, stop.signal]))) {
      if (update.kind === "end" && !update.alive) ended = true;
    }
  };
  // A broken stream gives no reason: the next status call does.
  const watching = watch().catch(() => {});
  const seen = watching.then(() => (ended ? undefined : new Promise<never>(() => {})));
  return {
    seen,
    hasEnded: () => ended,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await watching;
    },
  };
}
