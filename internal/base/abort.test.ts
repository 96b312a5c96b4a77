import { describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../test/support/fake-clock.ts";
import { aborted, firstOf, raceSignal, within, withTimeout } from "./abort.ts";

const why = new Error("told to stop");

describe("raceSignal", () => {
  it("settles like the promise if the promise settles first", async () => {
    const { signal } = new AbortController();
    expect(await raceSignal(Promise.resolve(1), signal)).toBe(1);
    await expect(raceSignal(Promise.reject(why), signal)).rejects.toBe(why);
  });

  it("rejects with the signal's reason if the signal is aborted first, or already was", async () => {
    const stop = new AbortController();
    const never = raceSignal(new Promise(() => {}), stop.signal);
    stop.abort(why);
    await expect(never).rejects.toBe(why);
    await expect(raceSignal(new Promise(() => {}), stop.signal)).rejects.toBe(why);
  });
});

describe("firstOf", () => {
  const sleeping = (clock: FakeClock, ms: number) => (stop: AbortSignal) => clock.sleep(ms, stop).then(() => ms);

  it("settles like the first that settles, and stops the others", async () => {
    const clock = new FakeClock();
    const first = firstOf(undefined, sleeping(clock, 300), sleeping(clock, 100), sleeping(clock, 200));
    await clock.advance(100);
    expect([await first, clock.sleeping]).toEqual([100, 0]);
    const failed = firstOf(undefined, sleeping(clock, 100), () => Promise.reject(why));
    await expect(failed).rejects.toBe(why);
    expect(clock.sleeping).toBe(0);
  });

  it("stops all of them when the signal is aborted", async () => {
    const [clock, stop] = [new FakeClock(), new AbortController()];
    const first = firstOf(stop.signal, sleeping(clock, 300), sleeping(clock, 100));
    stop.abort(why);
    await expect(first).rejects.toBe(why);
    expect(clock.sleeping).toBe(0);
  });

  it("ignores a later rejection of a loser", async () => {
    const late = Promise.withResolvers<never>();
    expect(
      await firstOf(
        undefined,
        () => late.promise,
        async () => "first",
      ),
    ).toBe("first");
    late.reject(why); // an unhandled rejection would fail the run
    await settle();
  });
});

describe("within", () => {
  it("settles like the promise if the promise settles in time, and leaves no timer", async () => {
    const clock = new FakeClock();
    expect(await within(clock, 100, Promise.resolve("done"))).toBe("done");
    await expect(within(clock, 100, Promise.reject(why))).rejects.toBe(why);
    expect(clock.sleeping).toBe(0);
  });

  it("resolves to undefined after the time, or when the signal is aborted", async () => {
    const [clock, stop] = [new FakeClock(), new AbortController()];
    const [late, stopped] = [
      within(clock, 100, new Promise(() => {})),
      within(clock, 900, new Promise(() => {}), stop.signal),
    ];
    await clock.advance(100);
    stop.abort(why);
    expect([await late, await stopped, clock.sleeping]).toEqual([undefined, undefined, 0]);
  });
});

describe("withTimeout", () => {
  it("names the action that took too long", async () => {
    const clock = new FakeClock();
    const late = withTimeout(clock, 100, "the reply", new Promise(() => {}));
    const failure = expect(late).rejects.toMatchObject({
      kind: "deadline",
      message: "the reply took longer than 100 ms",
      fields: { timeout_ms: 100 },
    });
    await clock.advance(100);
    await failure;
  });

  it("settles like the promise if the promise settles in time, and leaves no timer", async () => {
    const clock = new FakeClock();
    expect(await withTimeout(clock, 100, "it", Promise.resolve("done"))).toBe("done");
    await expect(withTimeout(clock, 100, "it", Promise.reject(why))).rejects.toBe(why);
    expect(clock.sleeping).toBe(0);
  });
});

describe("aborted", () => {
  it("resolves when the signal is aborted, or at once if it already is", async () => {
    const stop = new AbortController();
    let resolved = false;
    const waiting = aborted(stop.signal).then(() => {
      resolved = true;
    });
    await settle();
    expect(resolved).toBe(false);
    stop.abort(why);
    await waiting;
    await aborted(stop.signal);
  });
});
