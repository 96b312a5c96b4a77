import { expect, it } from "vitest";
import { InvalidFrames } from "./invalid-frames.ts";

it("reports the twentieth within a minute as too many", () => {
  const frames = new InvalidFrames();
  for (let i = 0; i < 19; i++) expect(frames.add(i * 1000)).toBe(false);
  expect(frames.add(59_000)).toBe(true);
});

it("forgets what is older than a minute", () => {
  const frames = new InvalidFrames();
  for (let i = 0; i < 19; i++) frames.add(0);
  expect(frames.add(60_000)).toBe(false);
});
