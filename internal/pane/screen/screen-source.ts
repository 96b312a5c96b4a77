import type { Screen } from "../../agents/screen.ts";

/** Provides the agent's screen: an emulator fed by the output, or captures of a local tmux. */
export interface ScreenSource {
  /** The newest screen known. */
  current(signal: AbortSignal): Promise<Screen>;
  /** Resolves when the screen may have changed since `current`, or after `ms`. */
  changed(ms: number, signal: AbortSignal): Promise<void>;
  /** Milliseconds since the last output that was seen. */
  quietMs(): number;
}

/** Waits, for at most `capMs`, until nothing has been printed for `ms`. Returns whether it became quiet. */
export async function waitForQuiet(
  source: ScreenSource,
  ms: number,
  capMs: number,
  clock: { monotonicMs(): number },
  signal: AbortSignal,
): Promise<boolean> {
  const end = clock.monotonicMs() + capMs;
  for (;;) {
    const quiet = source.quietMs();
    if (quiet >= ms) return true;
    const left = end - clock.monotonicMs();
    if (left <= 0) return false;
    await source.changed(Math.min(ms - quiet, left), signal);
  }
}
