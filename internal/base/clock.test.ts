import { describe, expect, it, vi } from "vitest";
import { FakeClock, settle } from "../../test/support/fake-clock.ts";
import { systemClock } from "./clock.ts";

describe("systemClock", () => {
  it("wakes a sleeper when its signal is aborted, with the signal's reason, before or during the sleep", async () => {
    const stop = new AbortController();
    const sleeping = systemClock.sleep(600_000, stop.signal);
    stop.abort(new Error("no more"));
    await expect(sleeping).rejects.toThrow("no more");
    await expect(systemClock.sleep(600_000, stop.signal)).rejects.toThrow("no more");
  });

  it("sleeps, and measures forward only", async () => {
    const before = systemClock.monotonicMs();
    await systemClock.sleep(0);
    expect(systemClock.monotonicMs()).toBeGreaterThanOrEqual(before);
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1000);
  });
});

describe("systemClock with a sleep longer than a timer can take", () => {
  it("sleeps the whole time", async () => {
    vi.useFakeTimers();
    try {
      const awake = vi.fn();
      const days = 86_400_000;
      void systemClock.sleep(60 * days).then(awake);
      await vi.advanceTimersByTimeAsync(60 * days - 1);
      expect(awake).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(1);
      expect(awake).toHaveBeenCalled();
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("FakeClock", () => {
  it("wakes sleepers in the order of their times, and lets them sleep again meanwhile", async () => {
    const clock = new FakeClock();
    const woken: string[] = [];
    const sleeper = async (name: string, ...times: number[]) => {
      for (const ms of times) {
        await clock.sleep(ms);
        woken.push(`${name} ${clock.monotonicMs()}`);
      }
    };
    const all = Promise.all([sleeper("a", 30, 30), sleeper("b", 20, 20)]);
    await clock.advance(45);
    expect(woken).toEqual(["b 20", "a 30", "b 40"]);
    expect(clock.monotonicMs()).toBe(45);
    await clock.advance(15);
    await all;
    expect(woken.at(-1)).toBe("a 60");
  });

  it("forgets a sleeper whose signal is aborted", async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    const sleeping = clock.sleep(1000, stop.signal);
    stop.abort(new Error("no more"));
    await expect(sleeping).rejects.toThrow("no more");
    expect(clock.sleeping).toBe(0);
  });

  it("throws if the awaited promise can never settle", async () => {
    const clock = new FakeClock();
    await expect(clock.until(new Promise(() => {}))).rejects.toThrow("nothing will happen");
    const done = clock.until(clock.sleep(5000).then(() => "up"));
    await settle();
    expect(await done).toBe("up");
    expect(clock.now() - new FakeClock().now()).toBe(5000);
  });
});
