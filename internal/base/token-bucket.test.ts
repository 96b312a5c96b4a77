import { expect, it } from "vitest";
import { TokenBucket } from "./token-bucket.ts";

it("is full at first, and never holds more", () => {
  const bucket = new TokenBucket(3, 100, 0);
  expect(bucket.fill(0)).toBe(3);
  expect(bucket.fill(10_000)).toBe(3);
});

it("regains one token per interval, and fractions in between", () => {
  const bucket = new TokenBucket(2, 100, 0);
  expect([bucket.take(), bucket.take()]).toEqual([1, 0]);
  expect([bucket.fill(50), bucket.fill(100), bucket.fill(1000)]).toEqual([0.5, 1, 2]);
});

it("reserves future tokens, down to a bound", () => {
  const bucket = new TokenBucket(1, 100, 0);
  expect([bucket.take(-1), bucket.take(-1), bucket.take(-1)]).toEqual([0, -1, -1]);
  expect(bucket.fill(200)).toBe(1);
});
