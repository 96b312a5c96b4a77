import { vi } from "vitest";
import type { FakeClock } from "./fake-clock.ts";

/**
 * Resolves once `look` does not throw, and advances the clock by `stepMs` before each try: work with files and sockets
 * needs real time in between. Rejects with the last error after 20 real seconds.
 */
export function inTime(clock: FakeClock, stepMs: number, look: () => void): Promise<void> {
  return vi.waitFor(
    async () => {
      await clock.advance(stepMs);
      look();
    },
    { timeout: 20_000, interval: 2 },
  );
}
