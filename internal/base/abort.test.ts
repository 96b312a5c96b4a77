import { describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../test/support/fake-clock.ts";
import { aborted, raceSignal, withTimeout } from "./abort.ts";

const why = new Error("told to stop");

describe("raceSignal", () => {
  it("settles like the promise when that is first", async () => {
    const { signal } = new AbortController();
    expect(await raceSignal(Promise.resolve(1), signal)).toBe(1);
    await expect(raceSignal(Promise.reject(why), signal)).rejects.toBe(why);
  });

  it("rejects with the signal's reason when that is first, also when it was aborted before", async () => {
    const stop = new AbortController();
    const never = raceSignal(new Promise(() => {}), stop.signal);
    stop.abort(why);
    await expect(never).rejects.toBe(why);
    await expect(raceSignal(new Promise(() => {}), stop.signal)).rejects.toBe(why);
  });
});

describe("withTimeout", () => {
  it("names what took too long", async () => {
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

  it("settles like the promise within the time, and keeps no timer", async () => {
    const clock = new FakeClock();
    expect(await withTimeout(clock, 100, "it", Promise.resolve("done"))).toBe("done");
    await expect(withTimeout(clock, 100, "it", Promise.reject(why))).rejects.toBe(why);
    expect(clock.sleeping).toBe(0);
  });
});

describe("aborted", () => {
  it("resolves when the signal is aborted, or at once when it was", async () => {
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
