import type { Clock } from "../../base/clock.ts";

/** Streams send their last update within this time, even on a busy machine; a stream ends with its last update. */
const FINAL_UPDATE_MS = 1000;

/**
 * Returns a signal that aborts with `signal` or, if the agent has ended, a moment later, so that the stream can report
 * the end.
 */
export function abortAfterFinalUpdate(clock: Clock, signal: AbortSignal, ended: () => string | undefined): AbortSignal {
  const late = new AbortController();
  const onAbort = async () => {
    if (ended() !== undefined) await clock.sleep(FINAL_UPDATE_MS);
    late.abort(signal.reason);
  };
  if (signal.aborted) late.abort(signal.reason);
  else signal.addEventListener("abort", () => void onAbort(), { once: true });
  return late.signal;
}
