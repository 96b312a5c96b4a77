import { expect, it } from "vitest";
import { Cursors } from "./cursors.ts";

const limits = { max: 3, idleMs: 1000 };

it("moves forward only", () => {
  const cursors = new Cursors(limits);
  expect(cursors.position("a", 0)).toBe(0n);
  expect(cursors.advance("a", 5n, 1)).toEqual({ subscriber: "a", seq: 5n, at: 1 });
  expect(cursors.advance("a", 3n, 2)).toBeUndefined();
  expect(cursors.advance("a", 5n, 2)).toBeUndefined();
  expect(cursors.position("a", 3)).toBe(5n);
});

it("forgets one that was not heard of for long, and counts every call as a sign of life", () => {
  const cursors = new Cursors(limits);
  cursors.advance("a", 5n, 0);
  cursors.advance("b", 7n, 0);
  expect(cursors.position("b", 900)).toBe(7n);
  expect(cursors.position("a", 1000)).toBe(0n);
  expect(cursors.list(1500)).toEqual([{ subscriber: "b", seq: 7n, at: 900 }]);
});

it("gives the place of the one that was idle longest to a new one", () => {
  const cursors = new Cursors(limits);
  for (const [i, name] of ["a", "b", "c"].entries()) cursors.advance(name, 1n, i);
  cursors.position("a", 5);
  cursors.advance("d", 1n, 6);
  expect(cursors.list(7).map(({ subscriber }) => subscriber)).toEqual(["c", "a", "d"]);
});

it("does not make room for one that only asks", () => {
  const cursors = new Cursors(limits);
  for (let i = 0; i < 10; i++) cursors.position(`reader ${i}`, i);
  expect(cursors.list(10)).toEqual([]);
});

it("goes on from what is left of an earlier process", () => {
  const cursors = new Cursors(limits, [
    { subscriber: "new", seq: 9n, at: 50 },
    { subscriber: "old", seq: 4n, at: 10 },
  ]);
  expect([cursors.position("old", 60), cursors.position("new", 60)]).toEqual([4n, 9n]);
  cursors.clear();
  expect(cursors.position("new", 61)).toBe(0n);
});
