import { expect, it } from "vitest";
import { hasForgotten } from "./reminder.ts";

it("an agent counts as having forgotten its thread once it has been idle for two minutes", () => {
  const status = { alive: true, state: "idle", stateSince: 1000 };
  expect(hasForgotten(status, 120_999)).toBe(false);
  expect(hasForgotten(status, 121_000)).toBe(true);
  for (const state of ["busy", "dialog", "parked", "uncertain"]) {
    expect(hasForgotten({ ...status, state }, 1e9)).toBe(false);
  }
  expect(hasForgotten({ ...status, alive: false }, 1e9)).toBe(false);
  expect(hasForgotten(undefined, 1e9)).toBe(false);
});

it("an idle agent that has printed nothing for two minutes has been idle, even if its state was first seen later", () => {
  const status = { alive: true, state: "idle", stateSince: 100_000, lastOutputAt: 1000 };
  expect(hasForgotten(status, 120_999)).toBe(false);
  expect(hasForgotten(status, 121_000)).toBe(true);
  expect(hasForgotten({ ...status, lastOutputAt: 110_000 }, 219_999)).toBe(false);
  expect(hasForgotten({ ...status, lastOutputAt: 110_000 }, 220_000)).toBe(true);
});
