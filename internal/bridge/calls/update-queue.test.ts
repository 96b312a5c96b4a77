import { expect, it } from "vitest";
import { UpdateQueue } from "./update-queue.ts";

it("gives updates in order, numbered from 1", () => {
  const queue = new UpdateQueue<string>();
  queue.put("a", "a1");
  queue.put("b", "b1");
  expect([queue.take(), queue.take(), queue.take()]).toEqual([
    { value: "a1", seq: 1n },
    { value: "b1", seq: 2n },
    undefined,
  ]);
});

it("gives the last update of a key only, and names those that it took the place of", () => {
  const queue = new UpdateQueue<string>();
  for (const value of ["a1", "a2", "a3"]) queue.put("a", value);
  queue.put("b", "b1");
  queue.put("a", "a4");
  expect(queue.take()).toEqual({ value: "b1", seq: 4n, missedFrom: 1n });
  expect(queue.take()).toEqual({ value: "a4", seq: 5n });
  queue.put("a", "a5");
  expect(queue.take()).toEqual({ value: "a5", seq: 6n });
});
