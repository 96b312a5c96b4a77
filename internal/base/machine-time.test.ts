import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { MachineTime } from "./machine-time.ts";

const DAY_MS = 86_400_000;

it("ignores jumps of the wall clock", async () => {
  const clock = new FakeClock();
  const time = new MachineTime(clock, { id: "a", upMs: 5000 });
  clock.jump(DAY_MS);
  await clock.advance(10);
  clock.jump(-2 * DAY_MS);
  expect(time.nowMs()).toBe(5010);
});

it("restores a moment of the same boot in another process", async () => {
  const clock = new FakeClock();
  const moment = new MachineTime(clock, { id: "a", upMs: 5000 }).momentOf(5000);
  const later = new MachineTime(new FakeClock(), { id: "a", upMs: 9000 });
  expect([later.atMs(moment), later.nowMs()]).toEqual([5000, 9000]);
});

it.each([
  ["of another boot as the start of this boot", { boot: "b", upMs: 5 }, 0],
  ["that lies a little ahead as now", { boot: "a", upMs: 9001 }, 9000],
])("counts a moment %s", (_, moment, expected) => {
  expect(new MachineTime(new FakeClock(), { id: "a", upMs: 9000 }).atMs(moment)).toBe(expected);
});

it("counts a moment that an older version did not store as now", () => {
  expect(new MachineTime(new FakeClock(), { id: "a", upMs: 9000 }).atMs(undefined)).toBe(9000);
});
