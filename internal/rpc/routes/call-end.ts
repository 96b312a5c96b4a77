import { aborted, raceSignal } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";

/** From the end of a call to the cut of its answer or connection, so that what says why arrives. */
const LAST_WORD_MS = 1000;

/** Calls `cut` if the call has been over for 1 s and `closed` has not been aborted. */
export async function cutAfterEnd(clock: Clock, over: AbortSignal, closed: AbortSignal, cut: () => void) {
  try {
    await raceSignal(aborted(over), closed);
    await clock.sleep(LAST_WORD_MS, closed);
    cut();
  } catch {
    // It closed by itself.
  }
}
