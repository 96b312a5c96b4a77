import { expect, it } from "vitest";
import { playLines } from "../lab/lines/play-lines.ts";

it("each printed line is reported once, whole and in order, whatever happens to window, screen and serving half", async ({
  signal,
}) => {
  const { printed, faults } = await playLines({ acts: 150, seed: 7, say: () => {} }, signal);
  expect(faults).toEqual([]);
  expect(printed).toBeGreaterThan(1000);
});
