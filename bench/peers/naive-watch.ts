import { FIRST_SCREEN_MS } from "../../internal/pane/screen/peek.ts";
import { RawCursor } from "../../internal/pane/watch/raw-cursor.ts";
import { WATCH_LOOK_MS, type WatchDeps } from "../../internal/pane/watch/watch-facts.ts";
import type { WatchRequest, WatchUpdate } from "../../internal/session/types.ts";
import { intervalOf } from "../../internal/session/watch-interval.ts";

/** The RAW updates of one watcher, as a handler without shared work makes them. */
export async function* naiveWatch(
  deps: WatchDeps,
  request: WatchRequest,
  signal: AbortSignal,
): AsyncGenerator<WatchUpdate> {
  const { clock, output } = deps;
  await output.known(FIRST_SCREEN_MS);
  const cursor = new RawCursor(deps, request);
  for (;;) {
    const end = output.ring.end;
    for (let update = cursor.next(); update !== undefined; update = cursor.next()) yield update;
    if (output.ring.end === end) await output.bytes.nextOrAfter(WATCH_LOOK_MS, clock, signal);
    else await clock.sleep(intervalOf(request), signal);
  }
}
