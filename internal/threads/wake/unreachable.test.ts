import { expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { unreachableMs } from "./unreachable.ts";

it.each([0, 0.5, 1])(
  "a runtime that does not answer is asked at growing intervals if the random number is %s",
  async (random) => {
    const clock = new FakeClock();
    const began = clock.monotonicMs();
    const waits: number[] = [];
    while (waits.length < 15) {
      waits.push(unreachableMs(clock.monotonicMs() - began, () => random));
      await clock.advance(waits.at(-1) ?? 0);
    }
    const most = Math.min(30_000, 30_000 * (0.8 + 0.4 * random));
    expect(waits[0]).toBeCloseTo(1000 * (0.8 + 0.4 * random));
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect(waits.at(-1)).toBe(most);
    // The longest wait is reached within five minutes, after few attempts.
    expect(waits.indexOf(most)).toBeLessThan(12);
  },
);

it("the intervals are not affected by a clock that is set back", () => {
  expect(unreachableMs(-5000, () => 0.5)).toBe(1000);
});
