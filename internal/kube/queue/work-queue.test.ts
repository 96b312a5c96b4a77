import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { fc } from "../../../test/support/property.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { DelayedKeys } from "./delayed-keys.ts";
import { WorkQueue } from "./work-queue.ts";

describe("a work queue", () => {
  let clock: FakeClock;
  let stop: AbortController;
  let running: Promise<void>;
  let done: string[];
  let work: (key: string, signal: AbortSignal) => Promise<void>;
  let queue: WorkQueue;

  beforeEach(() => {
    [clock, stop, done] = [new FakeClock(), new AbortController(), []];
    work = async () => {};
  });
  afterEach(async () => {
    stop.abort(new Error("test ends"));
    await running;
    expect(clock.sleeping).toBe(0);
  });

  function start(workers = 2, timeoutMs = 30_000, workersOfOne = workers): void {
    const reconcile = (key: string, signal: AbortSignal) => {
      done.push(`${clock.monotonicMs()} ${key}`);
      return work(key, signal);
    };
    const groups = { of: (key: string) => key.slice(0, 1), workersOfOne };
    queue = new WorkQueue({ clock, logger: silentLogger, reconcile }, { name: "test", workers, timeoutMs, groups });
    running = queue.run(stop.signal);
  }
  const settled = async () => {
    for (let i = 0; i < 3; i++) await settle();
  };
  const gate = () => Promise.withResolvers<void>();

  it("handles a key once if it is added several times before a worker takes it", async () => {
    start();
    for (let i = 0; i < 5; i++) queue.add("a");
    await settled();
    expect(done).toEqual(["0 a"]);
  });

  it("handles a key once more if it is added while it is being handled, and never twice at a time", async () => {
    const first = gate();
    work = () => (done.length === 1 ? first.promise : Promise.resolve());
    start(4);
    queue.add("a");
    await settled();
    queue.add("a");
    queue.add("a");
    await settled();
    expect(done).toHaveLength(1);
    expect(queue.depth).toBe(1);
    first.resolve();
    await settled();
    expect(done).toHaveLength(2);
  });

  it("handles as many keys at a time as it has workers, in the order in which they arrived", async () => {
    const open = gate();
    work = () => open.promise;
    start(2);
    for (const key of ["a", "b", "c"]) queue.add(key);
    await settled();
    expect(done).toEqual(["0 a", "0 b"]);
    open.resolve();
    await settled();
    expect(done).toEqual(["0 a", "0 b", "0 c"]);
  });

  it("retries a failed key after 5, 10, 20 ms and so on, up to 1,000 s, and starts over after a success", async () => {
    work = () => Promise.reject(new Error("no"));
    start();
    queue.add("a");
    await clock.advance(200);
    expect(done).toEqual(["0 a", "5 a", "15 a", "35 a", "75 a", "155 a"]);
    await clock.advance(4_000_000);
    const times = done.map((each) => Number(each.split(" ")[0]));
    expect((times.at(-1) ?? 0) - (times.at(-2) ?? 0)).toBe(1_000_000);
    work = async () => {};
    await clock.advance(1_000_000);
    work = () => (done.length % 2 === 1 ? Promise.reject(new Error("no")) : Promise.resolve());
    if (done.length % 2 === 1) queue.add("b");
    await settled();
    const now = clock.monotonicMs();
    queue.add("a");
    await clock.advance(5);
    expect(done.slice(-2)).toEqual([`${now} a`, `${now + 5} a`]);
  });

  it("retries all keys together at most 10 times a second after a burst of 100", async () => {
    work = () => Promise.reject(new Error("no"));
    start(10);
    for (let i = 0; i < 150; i++) queue.add(`k${i}`);
    await clock.advance(6);
    expect(done).toHaveLength(250);
    await clock.advance(5_000);
    expect(done.length).toBeLessThanOrEqual(250 + 52);
  });

  it("retries a group's keys quickly, however often another group's fail, and those within 1,000 s", async () => {
    work = () => Promise.reject(new Error("no"));
    start(10);
    for (let i = 0; i < 20_000; i++) {
      queue.add("a1");
      await settle();
    }
    queue.add("b1");
    queue.add("a2");
    await settled();
    done.length = 0;
    await clock.advance(5);
    expect(done).toContain("5 b1");
    expect(done).not.toContain("5 a2");
    await clock.advance(1_000_000);
    expect(done.some((each) => each.endsWith(" a2"))).toBe(true);
  });

  it("serves the groups in turn, and never gives one group all workers", async () => {
    const gates = new Map<string, PromiseWithResolvers<void>>();
    work = (key) => {
      gates.set(key, gate());
      return (gates.get(key) as PromiseWithResolvers<void>).promise;
    };
    start(3, 30_000, 2);
    for (const key of ["a1", "a2", "a3", "a4"]) queue.add(key);
    await settled();
    expect([done, queue.depth]).toEqual([["0 a1", "0 a2"], 2]);
    for (const key of ["b1", "b2"]) queue.add(key);
    await settled();
    expect(done.slice(2)).toEqual(["0 b1"]);
    for (const key of ["a1", "a2", "b1"]) {
      gates.get(key)?.resolve();
      await settled();
    }
    expect(done.slice(3)).toEqual(["0 a3", "0 b2", "0 a4"]);
    for (const { resolve } of gates.values()) resolve();
  });

  it("adds a delayed key at the earliest of its times", async () => {
    start();
    queue.addAfter("a", 60_000);
    queue.addAfter("b", 30_000);
    queue.addAfter("a", 10_000);
    queue.addAfter("a", 20_000);
    await clock.advance(100_000);
    expect(done).toEqual(["10000 a", "30000 b"]);
  });

  it("aborts work at its deadline and retries it", async () => {
    work = (_, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    start(1, 1_000);
    queue.add("a");
    await clock.advance(1_005);
    expect(done).toEqual(["0 a", "1005 a"]);
  });

  it("keeps the key of work that ignores its deadline, and frees its worker", async () => {
    const stuck = gate();
    work = (key) => (key === "a" ? stuck.promise : Promise.resolve());
    start(1, 1_000);
    queue.add("a");
    await clock.advance(500);
    queue.add("b");
    queue.add("a");
    await clock.advance(10_000);
    expect(done).toEqual(["0 a", "2000 b"]);
    stuck.resolve();
    await settled();
    expect(done).toEqual(["0 a", "2000 b", "10500 a"]);
  });

  it("resolves, once stopped, only after all work has ended", async () => {
    const open = gate();
    work = () => open.promise;
    start();
    queue.add("a");
    await settled();
    stop.abort(new Error("stopped"));
    let isOver = false;
    void running.then(() => {
      isOver = true;
    });
    await settled();
    expect(isOver).toBe(false);
    open.resolve();
    await running;
  });
});

describe("delayed keys", () => {
  it("are returned in the order of their earliest times", () => {
    const entries = fc.array(fc.tuple(fc.constantFrom("a", "b", "c", "d", "e"), fc.integer({ min: 0, max: 50 })));
    fc.assert(
      fc.property(entries, (puts) => {
        const keys = new DelayedKeys();
        const model = new Map<string, number>();
        for (const [key, at] of puts) {
          keys.put(key, at);
          model.set(key, Math.min(at, model.get(key) ?? at));
        }
        for (let now = 0; now <= 50; now++) {
          const taken = new Set<string>();
          for (let key = keys.take(now); key !== undefined; key = keys.take(now)) taken.add(key);
          expect([...taken].sort()).toEqual(
            [...model]
              .filter(([, at]) => at === now)
              .map(([key]) => key)
              .sort(),
          );
        }
        expect(keys.size).toBe(0);
      }),
    );
  });
});
