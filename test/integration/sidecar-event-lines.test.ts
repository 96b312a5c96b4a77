import { expect, it } from "vitest";
import { printNumberedLines } from "../support/numbered-lines.ts";

/** A share of what `printNumberedLines` can make; a failure names the seed. */
const ACTS = 250;

it("tells each line once, whole and in order, while the window changes and screens come, go and are cleared", {
  timeout: 180_000,
}, async () => {
  const seed = 1;
  const { expected, told, blank, faults } = await printNumberedLines({ acts: ACTS, seed });
  expect(faults, `seed ${seed}`).toEqual([]);
  expect(told, `seed ${seed}`).toEqual(expected);
  expect(blank).toBe(0);
});
