import { FIRST_SCREEN_MS } from "./peek.ts";
import { RawCursor } from "./raw-cursor.ts";
import { ScreenCursor, screenUpdate, takePicture } from "./screen-cursor.ts";
import type { WatchRequest, WatchUpdate } from "./types.ts";
import type { WatchDeps } from "./watch-facts.ts";

const WATCH_DEFAULT_INTERVAL_MS = 100;
const WATCH_MIN_INTERVAL_MS = 10;
/** A wait is never longer: heartbeats and ends are looked for then. */
export const WATCH_LOOK_MS = 1000;

/** Least time between two updates, ms. */
export function intervalOf(request: WatchRequest): number {
  return request.intervalMs <= 0 ? WATCH_DEFAULT_INTERVAL_MS : Math.max(WATCH_MIN_INTERVAL_MS, request.intervalMs);
}

/**
 * Updates of one agent's terminal until the caller leaves, `signal` aborts or the agent has ended for good. Many watchers
 * are better served by `WatchHub`, which sends the same and does the work once.
 */
export function watch(deps: WatchDeps, request: WatchRequest, signal: AbortSignal): AsyncGenerator<WatchUpdate> {
  return request.mode === "raw" ? watchRaw(deps, request, signal) : watchScreen(deps, request, signal);
}

/** The last lines, whole, each time they differ from what was sent. */
async function* watchScreen(deps: WatchDeps, request: WatchRequest, signal: AbortSignal) {
  const { clock, output } = deps;
  const cursor = new ScreenCursor(deps);
  for (;;) {
    const before = output.emulator.version;
    const picture = await takePicture(deps, request);
    for (let kind = cursor.kindFor(picture); kind !== undefined; kind = cursor.kindFor(picture)) {
      yield screenUpdate(deps, kind, picture);
      if (kind === "end") return;
      cursor.sent(picture);
    }
    await clock.sleep(intervalOf(request), signal);
    if (output.emulator.version === before) await output.changed(WATCH_LOOK_MS, signal);
  }
}

/** The bytes themselves, each with its offset; a snapshot that redraws the screen first, and again after a hole. */
async function* watchRaw(deps: WatchDeps, request: WatchRequest, signal: AbortSignal) {
  const { clock, output } = deps;
  await output.known(FIRST_SCREEN_MS);
  const cursor = new RawCursor(deps, request);
  for (;;) {
    const end = output.ring.end;
    for (let update = cursor.next(); update !== undefined; update = cursor.next()) {
      yield update;
      if (update.kind === "end") return;
    }
    if (output.ring.end === end) await output.bytes.nextOrAfter(WATCH_LOOK_MS, clock, signal);
    else await clock.sleep(intervalOf(request), signal);
  }
}
