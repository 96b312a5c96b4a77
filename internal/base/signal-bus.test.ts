import { expect, it } from "vitest";
import { FakeClock, settle } from "../../test/support/fake-clock.ts";
import { SignalBus } from "./signal-bus.ts";

const { signal: live } = new AbortController();

it("wakes every waiter, once", async () => {
  const bus = new SignalBus();
  let woken = 0;
  const wait = async () => {
    await bus.next(live);
    woken++;
  };
  const both = Promise.all([wait(), wait()]);
  bus.notify();
  await both;
  bus.notify();
  await settle();
  expect(woken).toBe(2);
});

it("does not wake waiters that come after the notification", async () => {
  const bus = new SignalBus();
  bus.notify();
  let woken = false;
  void bus.next(live).then(() => {
    woken = true;
  });
  await settle();
  expect(woken).toBe(false);
});

it("rejects with the signal's reason, before or during the wait", async () => {
  const bus = new SignalBus();
  const stop = new AbortController();
  const waiting = bus.next(stop.signal);
  stop.abort(new Error("no more"));
  await expect(waiting).rejects.toThrow("no more");
  await expect(bus.next(stop.signal)).rejects.toThrow("no more");
  bus.notify();
});

it("calls listeners at each notification until they are removed", () => {
  const bus = new SignalBus();
  let calls = 0;
  const leave = bus.listen(() => {
    calls++;
  });
  bus.notify();
  bus.notify();
  leave();
  bus.notify();
  expect(calls).toBe(2);
});

it("resolves at the notification or after the time, whichever is first, and leaves no timer", async () => {
  const clock = new FakeClock();
  const bus = new SignalBus();
  const notified = bus.nextOrAfter(1000, clock, live);
  await settle();
  bus.notify();
  await notified;
  expect([clock.monotonicMs(), clock.sleeping]).toEqual([0, 0]);
  await clock.until(bus.nextOrAfter(1000, clock, live));
  expect(clock.monotonicMs()).toBe(1000);
  const stop = new AbortController();
  const stopped = bus.nextOrAfter(1000, clock, stop.signal);
  stop.abort(new Error("no more"));
  await expect(stopped).rejects.toThrow("no more");
  await settle();
  expect(clock.sleeping).toBe(0);
});
