import type { ThreadStatus } from "./types.ts";

const DAY_MS = 86_400_000;

/**
 * Messages that were created before this time are to be erased; wall clock, ms. Undefined: retention is off, the thread
 * is not closed, or it has changed within `retentionDays`.
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
