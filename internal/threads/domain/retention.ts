import type { ThreadStatus } from "./types.ts";

const DAY_MS = 86_400_000;

/**
 * Messages created before this time are erased, wall clock, ms; undefined: none. Only closed threads are erased, and
 * only once they have been closed for as long.
 */
export function eraseBefore(
  thread: { readonly status: ThreadStatus; readonly updatedAt: number },
  retentionDays: number,
  now: number,
): number | undefined {
  if (retentionDays <= 0 || thread.status !== "closed") return undefined;
  const before = now - retentionDays * DAY_MS;
  return thread.updatedAt < before ? before : undefined;
}
