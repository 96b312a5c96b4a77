import { expect, it } from "vitest";
import { backoffMs, backoffStepMs } from "./backoff.ts";

const options = { firstMs: 100, maxMs: 1000, factor: 2 };

it.each([
  { attempt: 0, random: 0.5, ms: 100 },
  { attempt: 1, random: 0.5, ms: 200 },
  { attempt: 2, random: 0.5, ms: 400 },
  { attempt: 0, random: 0, ms: 80 },
  { attempt: 0, random: 1, ms: 120 },
  { attempt: 9, random: 0, ms: 800 },
  { attempt: 9, random: 1, ms: 1000 },
  { attempt: 5000, random: 0.5, ms: 1000 },
])("waits $ms ms before attempt $attempt if the random number is $random", ({ attempt, random, ms }) => {
  expect(backoffMs(options, attempt, () => random)).toBe(ms);
});

it("grows to its maximum without jitter", () => {
  expect([0, 1, 2, 3, 4, 5000].map((attempt) => backoffStepMs(options, attempt))).toEqual([
    100, 200, 400, 800, 1000, 1000,
  ]);
});
