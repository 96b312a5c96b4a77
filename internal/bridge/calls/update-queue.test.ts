import { expect, it } from "vitest";
import { UpdateQueue } from "./update-queue.ts";

/** Takes the next update and gives it to the reader at once. */
function next(queue: UpdateQueue<string>, busy?: ReadonlySet<string>) {
  const taken = queue.take(busy);
  return taken && queue.give(taken, taken.value);
}

it("returns updates in order, numbered from 1", () => {
  const queue = new UpdateQueue<string>();
  queue.put("a", "a1");
  queue.put("b", "b1");
  expect([next(queue), next(queue), next(queue)]).toEqual([
    { value: "a1", seq: 1n },
    { value: "b1", seq: 2n },
    undefined,
  ]);
});

it("returns only the last update of a key, and counts those that it replaced", () => {
  const queue = new UpdateQueue<string>();
  for (const value of ["a1", "a2", "a3"]) queue.put("a", value);
  queue.put("b", "b1");
  queue.put("a", "a4");
  expect(next(queue)).toEqual({ value: "b1", seq: 1n });
  expect(next(queue)).toEqual({ value: "a4", seq: 5n, missedFrom: 2n });
  queue.put("a", "a5");
  expect(next(queue)).toEqual({ value: "a5", seq: 6n });
});

it("keeps the updates of busy keys, and numbers them in the order in which they are returned", () => {
  const queue = new UpdateQueue<string>();
  queue.put("a", "a1");
  queue.put("b", "b1");
  expect(next(queue, new Set(["a"]))).toEqual({ value: "b1", seq: 1n });
  expect(next(queue, new Set(["a"]))).toBeUndefined();
  expect(next(queue)).toEqual({ value: "a1", seq: 2n });
});
