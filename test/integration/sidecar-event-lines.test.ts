import { expect, it } from "vitest";
import { printNumberedLines } from "../support/sidecar/numbered-lines.ts";

/**
 * A small share of the acts of `printNumberedLines`; a failure names the seed. For a long run: GT_EVENT_ACTS=10000
 * GT_EVENT_SEED=12.
 */
const ACTS = Number(process.env["GT_EVENT_ACTS"] ?? "250");
const SEED = Number(process.env["GT_EVENT_SEED"] ?? "1");
/** An act takes about 50 ms, and several times that on a busy machine. */
const LIMIT_MS = 60_000 + ACTS * 500;

it("each line is reported once, whole and in order, while the window is resized and screens are switched and cleared", {
  timeout: LIMIT_MS,
}, async () => {
  const seed = SEED;
  const { expected, told, blank, faults } = await printNumberedLines({ acts: ACTS, seed });
  expect(faults, `seed ${seed}`).toEqual([]);
  expect(told, `seed ${seed}`).toEqual(expected);
  expect(blank).toBe(0);
});
