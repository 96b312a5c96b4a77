import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { IDEMPOTENT_KEEP, IDEMPOTENT_KEEP_MS, IDEMPOTENT_KEEP_OF_ALL, IdempotentCalls } from "./idempotent-calls.ts";

function counted() {
  const clock = new FakeClock();
  const once = new IdempotentCalls<number>(clock);
  let calls = 0;
  const call = (id: string, content = "x", caller = "ann") =>
    once.once(caller, id, content, async (onPress) => {
      onPress();
      calls += 1;
      return calls;
    });
  return { clock, once, call, calls: () => calls };
}

it("does the work once for one id, even while it is in progress", async () => {
  const { call } = counted();
  expect(await Promise.all([call("a"), call("a"), call("b")])).toEqual([1, 1, 2]);
  expect(await call("a")).toBe(1);
});

it("does the work each time without an id", async () => {
  const { call } = counted();
  expect([await call(""), await call("")]).toEqual([1, 2]);
});

it("refuses the id for other content, and malformed ids", () => {
  const { call } = counted();
  void call("a");
  expect(() => call("a", "y")).toThrow(expect.objectContaining({ kind: "already-exists" }));
  for (const bad of ["a b", "x".repeat(129), "ü"]) {
    expect(() => call(bad)).toThrow(expect.objectContaining({ kind: "invalid" }));
  }
});

it("repeats only calls that failed before a key was pressed", async () => {
  const { once } = counted();
  const fail = (press: boolean) => async (onPress: () => void) => {
    if (press) onPress();
    throw new Error("no");
  };
  await expect(once.once("ann", "a", "x", fail(false))).rejects.toThrow("no");
  expect(await once.once("ann", "a", "x", async () => 7)).toBe(7);
  await expect(once.once("ann", "b", "x", fail(true))).rejects.toThrow("no");
  await expect(once.once("ann", "b", "x", async () => 7)).rejects.toThrow("no");
});

it("forgets an id after an hour, and the oldest above its limit", async () => {
  const { clock, call, calls } = counted();
  await call("old");
  await clock.advance(IDEMPOTENT_KEEP_MS);
  expect(await call("old")).toBe(2);
  for (let i = 0; i < IDEMPOTENT_KEEP; i++) await call(`n${i}`);
  const before = calls();
  await call("n999");
  expect(calls()).toBe(before);
  await call("old");
  expect(calls()).toBe(before + 1);
});

it("keeps one caller's ids, however many another uses", async () => {
  const { call, calls } = counted();
  await call("mine", "x", "bob");
  for (let i = 0; i < 2 * IDEMPOTENT_KEEP; i++) await call(`n${i}`);
  const before = calls();
  expect(await call("mine", "x", "bob")).toBe(1);
  expect(calls()).toBe(before);
});

it("lets callers use the same id for different content", async () => {
  const { call } = counted();
  expect([await call("a"), await call("a", "y", "bob")]).toEqual([1, 2]);
});

it("makes room in a full table by forgetting an id of the caller with the most", async () => {
  const { call, calls } = counted();
  for (let i = 0; i < 100; i++) await call(`n${i}`);
  for (let i = 100; i < IDEMPOTENT_KEEP_OF_ALL; i++) await call("a", "x", `caller-${i}`);
  await call("a", "x", "newcomer");
  const before = calls();
  await call("a", "x", "caller-100");
  await call("n1");
  expect(calls()).toBe(before);
  await call("n0");
  expect(calls()).toBe(before + 1);
});
