import { vi } from "vitest";
import type { FakeClock } from "./fake-clock.ts";

/**
 * Resolves once `look` does not throw, and lets `stepMs` of the clock pass before each try: what works with files and
 * sockets needs real time in between. Rejects with what it threw after 20 real seconds.
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
