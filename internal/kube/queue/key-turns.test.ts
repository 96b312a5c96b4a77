import { expect, it } from "vitest";
import { KeyTurns } from "./key-turns.ts";

it("takes the groups in turns, each key once, in their order", () => {
  const turns = new KeyTurns(9);
  for (const key of ["a1", "a2", "a1", "a3", "b1", "c1"]) turns.add(key, key.slice(0, 1));
  expect(turns.size).toBe(5);
  const begun = Array.from({ length: 6 }, () => turns.begin()?.key);
  expect(begun).toEqual(["a1", "b1", "c1", "a2", "a3", undefined]);
});

it("starts no more of a group than its limit, and the next when one has ended", () => {
  const turns = new KeyTurns(2);
  for (const key of ["a1", "a2", "a3"]) turns.add(key, "a");
  expect([turns.begin()?.key, turns.begin()?.key, turns.begin()]).toEqual(["a1", "a2", undefined]);
  turns.add("b1", "b");
  expect(turns.begin()).toEqual({ key: "b1", group: "b" });
  turns.end("a");
  expect([turns.begin()?.key, turns.size]).toEqual(["a3", 0]);
});
