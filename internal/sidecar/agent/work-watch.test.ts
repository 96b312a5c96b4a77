import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import type { WorkSample } from "../../process/process-facts.ts";
import { didWork, sampleWork } from "../../process/process-work.ts";
import { WorkWatch } from "./work-watch.ts";

const STALL_AFTER_MS = 600_000;

describe("an agent's processes", () => {
  const at = (cpuMs: number, writtenBytes: number): WorkSample => ({ cpuMs, writtenBytes });

  it.each([
    ["nothing at all", at(0, 0), false],
    ["the share of a waiting program's loop", at(590, 400), false],
    ["more than two hundredths of a core", at(600, 0), true],
    ["a line of a transcript", at(0, 1024), true],
  ])("work if in 30 s they use: %s", (_, more, works) => {
    expect(didWork(at(5000, 7000), at(5000 + more.cpuMs, 7000 + more.writtenBytes), 30_000)).toBe(works);
  });

  it("are seen with their CPU time, and are skipped if they are gone", () => {
    const own = sampleWork(process.pid);
    expect(own?.cpuMs).toBeGreaterThan(0);
    expect(sampleWork(2 ** 30)).toBeUndefined();
  });
});

describe("the watch for silent work", () => {
  let clock: FakeClock;
  let monitor: { stallsAt: number | undefined; worked: () => void };
  let worked: number;
  let samples: number;
  let sample: WorkSample | undefined;
  let stop: AbortController;
  let running: Promise<void>;

  beforeEach(() => {
    clock = new FakeClock();
    worked = 0;
    samples = 0;
    sample = { cpuMs: 0, writtenBytes: 0 };
    monitor = {
      stallsAt: undefined,
      worked: () => {
        worked++;
        monitor.stallsAt = clock.monotonicMs() + STALL_AFTER_MS;
      },
    };
    stop = new AbortController();
    const deps = {
      clock,
      monitor,
      sample: async () => {
        samples++;
        return sample;
      },
    };
    running = new WorkWatch(deps, { stallAfterMs: STALL_AFTER_MS }).run(stop.signal);
  });
  afterEach(async () => {
    stop.abort();
    await running;
  });

  /** Advances time second by second; the agent computes for this many milliseconds in each. */
  async function pass(seconds: number, cpuMs = 0): Promise<void> {
    for (let i = 0; i < seconds; i++) {
      if (sample !== undefined) sample = { ...sample, cpuMs: sample.cpuMs + cpuMs };
      await clock.advance(1000);
    }
  }

  it("looks at no process while the agent is idle, or far from stalled", async () => {
    await pass(5);
    monitor.stallsAt = clock.monotonicMs() + STALL_AFTER_MS;
    await pass(500);
    expect(samples).toBe(0);
  });

  it("reports work before the agent counts as stalled", async () => {
    const stallsAt = clock.monotonicMs() + STALL_AFTER_MS;
    monitor.stallsAt = stallsAt;
    await pass(599, 100);
    expect(worked).toBe(1);
    expect(monitor.stallsAt).toBeGreaterThan(stallsAt);
  });

  it("lets an agent that does nothing become stalled, and keeps watching", async () => {
    monitor.stallsAt = clock.monotonicMs() + STALL_AFTER_MS;
    await pass(650);
    expect(worked).toBe(0);
    await pass(65, 100);
    expect(worked).toBe(1);
  });

  it("ignores processes that it cannot see", async () => {
    sample = undefined;
    monitor.stallsAt = clock.monotonicMs() + STALL_AFTER_MS;
    await pass(700);
    expect(samples).toBeGreaterThan(0);
    expect(worked).toBe(0);
  });
});
