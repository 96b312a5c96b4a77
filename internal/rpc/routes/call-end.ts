import { aborted, raceSignal } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";

/** Time between the end of a call and the cut of its response or connection, so that the reason arrives. */
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
