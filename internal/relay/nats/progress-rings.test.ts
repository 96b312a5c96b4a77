import { expect, it } from "vitest";
import { ProgressRings } from "./progress-rings.ts";

const lane = { sessionId: "s", role: "r" };
const entry = (seq: number, epoch = "a", body = `"${epoch}${seq}"`) => ({ epoch, seq, body });

it("returns everything after an update, prompts included", () => {
  const rings = new ProgressRings();
  expect(rings.read(lane, undefined)).toBeUndefined();
  rings.prompted(lane, "w1", '"p1"');
  for (const seq of [1, 2]) rings.add(lane, entry(seq));
  rings.prompted(lane, "w2", '"p2"');
  rings.prompted(lane, "w2", '"p2"');
  rings.add(lane, entry(3));
  expect(rings.read(lane, undefined)).toEqual({
    bodies: ['"p1"', '"a1"', '"a2"', '"p2"', '"a3"'],
    ...{ prompts: 2, gap: undefined },
  });
  expect(rings.read(lane, { epoch: "a", seq: 2 })?.bodies).toEqual(['"p2"', '"a3"']);
  expect(rings.read(lane, { epoch: "z", seq: 4 })?.gap).toEqual({ epoch: "z", first: 5, to: 0 });
});

it("keeps half a MiB of a lane, and reports what it has dropped", () => {
  const rings = new ProgressRings();
  for (let seq = 1; seq <= 20; seq++) rings.add(lane, entry(seq, "a", `"${"x".repeat(64 * 1024 - 2)}"`));
  expect(rings.read(lane, undefined)).toMatchObject({ bodies: { length: 8 }, gap: { epoch: "a", first: 1, to: 12 } });
  expect(rings.read(lane, { epoch: "a", seq: 5 })?.gap).toEqual({ epoch: "a", first: 6, to: 12 });
  expect(rings.read(lane, { epoch: "a", seq: 12 })?.gap).toBeUndefined();
  expect(rings.read(lane, { epoch: "a", seq: 15 })).toMatchObject({ bodies: { length: 5 }, gap: undefined });
});

it("is bounded for all lanes together: the longest quiet one is dropped", () => {
  const rings = new ProgressRings(30);
  for (const sessionId of ["one", "two", "three"]) rings.add({ ...lane, sessionId }, entry(1, "a", "x".repeat(12)));
  const kept = ["one", "two", "three"].map((sessionId) => rings.read({ ...lane, sessionId }, undefined) !== undefined);
  expect(kept).toEqual([false, true, true]);
});
