import type { Clock } from "../../base/clock.ts";

/** The streams' last updates are sent within this time, on a busy machine too; a stream ends with its last update. */
const FINAL_UPDATE_MS = 1000;

/** Aborts with `signal`, or a moment later if a stream has still to report its end. */
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
