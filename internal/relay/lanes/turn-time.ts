import type { Clock } from "../../base/clock.ts";

export interface TurnTime {
  readonly deadlineMs: number;
  /** The longest time without a frame of the agent. */
  readonly idleMs: number;
  /** The interval at which `stillWorking` is called. */
  readonly everyMs: number;
  /** Monotonic ms of the agent's last frame. */
  readonly lastFrameMs: () => number;
  readonly stillWorking: () => void;
}

/**
 * Watches a turn: resolves with the limit that it exceeds, or rejects with the signal's reason. Meanwhile calls
 * `stillWorking` regularly.
 */
export async function overdue(
  clock: Clock,
  { deadlineMs, idleMs, everyMs, lastFrameMs, stillWorking }: TurnTime,
  signal: AbortSignal,
): Promise<"deadline" | "idle"> {
  const began = clock.monotonicMs();
  for (;;) {
    const now = clock.monotonicMs();
    const untilDeadline = began + deadlineMs - now;
    const untilIdle = Math.max(began, lastFrameMs()) + idleMs - now;
    if (untilDeadline <= 0) return "deadline";
    if (untilIdle <= 0) return "idle";
    await clock.sleep(Math.min(everyMs, untilDeadline, untilIdle), signal);
    stillWorking();
  }
}
