import type { Clock } from "../../base/clock.ts";
import type { WatchUpdate } from "../../session/types.ts";
import type { OutputStream } from "../screen/output.ts";
import type { Peeker } from "../screen/peek.ts";

export interface WatchDeps {
  readonly clock: Clock;
  readonly output: OutputStream;
  readonly peeker: Peeker;
  readonly alive: () => boolean;
  /** Why the output ended; undefined while more may come. */
  readonly ended: () => string | undefined;
}

/** The longest wait: heartbeats and ends are checked then. */
export const WATCH_LOOK_MS = 1000;

/** The facts that every update contains, whatever its kind. */
export function updateFacts(deps: WatchDeps): Omit<WatchUpdate, "kind" | "output" | "data" | "gap"> {
  const { emulator, epoch, drawnTo } = deps.output;
  const { x, y } = emulator.cursor;
  return {
    alive: deps.alive(),
    timestamp: deps.clock.now(),
    epoch,
    offset: drawnTo,
    cols: emulator.cols,
    rows: emulator.rows,
    alternateScreen: emulator.alternate,
    cursorX: x,
    cursorY: y,
    endReason: "",
  };
}

/** Waits for `ms`; returns early once the output has ended, because the end must then be sent. */
export async function waitOrEnd({ clock, output, ended }: WatchDeps, ms: number, signal: AbortSignal): Promise<void> {
  const until = clock.monotonicMs() + ms;
  for (let left = ms; left > 0 && ended() === undefined; left = until - clock.monotonicMs()) {
    await output.screens.nextOrAfter(left, clock, signal);
  }
}
