import { beforeEach, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { HistorySize, type PaneHistory } from "./history-size.ts";

let clock: FakeClock;
let size: HistorySize;
let asked: number;
const tmux = (historySize: number): PaneHistory => ({
  facts: async () => {
    asked++;
    return { historySize };
  },
});
const full = { historyLines: 1000, cap: 1000 };

beforeEach(() => {
  clock = new FakeClock();
  size = new HistorySize(clock);
  asked = 0;
});

it("the history size is the emulator's own count while the emulator's history is not full", async () => {
  expect([await size.lines({ historyLines: 999, cap: 1000 }, tmux(5)), asked]).toEqual([999, 0]);
});

it("the history size is tmux's once the emulator's history is full, with one request for all callers within 250 ms", async () => {
  const pane = tmux(19_950);
  expect(await Promise.all([size.lines(full, pane), size.lines(full, pane)])).toEqual([19_950, 19_950]);
  expect(asked).toBe(1);
  await clock.advance(251);
  expect([await size.lines(full, tmux(20_000)), asked]).toEqual([20_000, 2]);
});

it("the history size is the emulator's while tmux is away, fails, or does not answer", async () => {
  expect(await size.lines(full, undefined)).toBe(1000);
  expect(await size.lines(full, { facts: () => Promise.reject(new Error("away")) })).toBe(1000);
  await clock.advance(251);
  expect(await clock.until(size.lines(full, { facts: () => new Promise(() => {}) }))).toBe(1000);
});
