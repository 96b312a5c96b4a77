import { aborted, raceSignal } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";

/** The time from the end of a call until its response or connection is cut, so that the caller gets the reason. */
const LAST_WORD_MS = 1000;

/** Calls `cut` 1 s after the call has ended, unless `closed` is aborted first. */
export async function cutAfterEnd(clock: Clock, over: AbortSignal, closed: AbortSignal, cut: () => void) {
  try {
    await raceSignal(aborted(over), closed);
    await clock.sleep(LAST_WORD_MS, closed);
    cut();
  } catch {
    // The connection closed by itself.
  }
}
