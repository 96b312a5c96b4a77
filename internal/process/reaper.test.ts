import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { parseStat } from "./proc-files.ts";
import { type ChildState, Reaper } from "./reaper.ts";

function setUp() {
  const processes = new Map<number, ChildState>();
  const waited: number[] = [];
  const children = {
    list: () => [...processes.keys()],
    state: (pid: number) => processes.get(pid),
    wait: (pid: number) => {
      waited.push(pid);
      processes.delete(pid);
    },
    onEnd: () => () => {},
  };
  return { processes, waited, reaper: new Reaper(new FakeClock(), children) };
}

const zombie = (startedAt: string): ChildState => ({ startedAt, isZombie: true });

describe("the reaper", () => {
  it("waits for a zombie on the third look, and not before", () => {
    const { processes, waited, reaper } = setUp();
    processes.set(7, zombie("100"));
    expect([reaper.look(), reaper.look()]).toEqual([true, true]);
    expect(waited).toEqual([]);
    expect(reaper.look()).toBe(false);
    expect(waited).toEqual([7]);
    expect(reaper.reaped).toBe(1);
  });

  it("leaves a living child alone", () => {
    const { processes, waited, reaper } = setUp();
    processes.set(7, { startedAt: "100", isZombie: false });
    expect([reaper.look(), reaper.look(), reaper.look()]).toEqual([false, false, false]);
    expect(waited).toEqual([]);
  });

  it("starts counting again for another process with the same pid", () => {
    const { processes, waited, reaper } = setUp();
    processes.set(7, zombie("100"));
    reaper.look();
    reaper.look();
    processes.set(7, zombie("900"));
    expect(reaper.look()).toBe(true);
    expect(waited).toEqual([]);
  });

  it("forgets a zombie that its owner has waited for", () => {
    const { processes, waited, reaper } = setUp();
    processes.set(7, zombie("100"));
    reaper.look();
    reaper.look();
    processes.delete(7);
    expect(reaper.look()).toBe(false);
    expect(waited).toEqual([]);
  });
});

describe("a line of /proc/PID/stat", () => {
  const rest = "1 42 42 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 3599 0";

  it("shows a zombie and its start time, whatever its name is", () => {
    expect(parseStat(`42 (a) Z (b) Z ${rest}`)).toEqual({ startedAt: "3599", isZombie: true });
    expect(parseStat(`42 (Z) S ${rest}`)).toEqual({ startedAt: "3599", isZombie: false });
  });

  it("of a process that has gone is empty", () => {
    expect(parseStat("")).toBeUndefined();
  });
});
