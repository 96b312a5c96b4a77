import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { parseStat } from "./linux-children.ts";
import { type ChildState, Reaper } from "./reaper.ts";

function setUp() {
  const clock = new FakeClock();
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
  return { clock, processes, waited, reaper: new Reaper(clock, children) };
}

const zombie = (startedAt: string): ChildState => ({ startedAt, isZombie: true });

describe("the reaper", () => {
  it("waits for a zombie that is 300 ms old, and not before", async () => {
    const { clock, processes, waited, reaper } = setUp();
    processes.set(7, zombie("100"));
    expect(reaper.look()).toBe(true);
    await clock.advance(299);
    expect(reaper.look()).toBe(true);
    expect(waited).toEqual([]);
    await clock.advance(1);
    expect(reaper.look()).toBe(false);
    expect(waited).toEqual([7]);
    expect(reaper.reaped).toBe(1);
  });

  it("leaves a child that lives", async () => {
    const { clock, processes, waited, reaper } = setUp();
    processes.set(7, { startedAt: "100", isZombie: false });
    reaper.look();
    await clock.advance(10_000);
    expect(reaper.look()).toBe(false);
    expect(waited).toEqual([]);
  });

  it("counts anew for another process with the same pid", async () => {
    const { clock, processes, waited, reaper } = setUp();
    processes.set(7, zombie("100"));
    reaper.look();
    await clock.advance(300);
    processes.set(7, zombie("900"));
    expect(reaper.look()).toBe(true);
    expect(waited).toEqual([]);
  });

  it("forgets a zombie that its owner has waited for", async () => {
    const { clock, processes, waited, reaper } = setUp();
    processes.set(7, zombie("100"));
    reaper.look();
    processes.delete(7);
    await clock.advance(300);
    expect(reaper.look()).toBe(false);
    expect(waited).toEqual([]);
  });
});

describe("a line of /proc/PID/stat", () => {
  const rest = "1 42 42 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 3599 0";

  it("tells a zombie and its start, whatever its name is", () => {
    expect(parseStat(`42 (a) Z (b) Z ${rest}`)).toEqual({ startedAt: "3599", isZombie: true });
    expect(parseStat(`42 (Z) S ${rest}`)).toEqual({ startedAt: "3599", isZombie: false });
  });

  it("of a process that has gone is empty", () => {
    expect(parseStat("")).toBeUndefined();
  });
});
