import { expect, it } from "vitest";
import { Cursors } from "./cursors.ts";

const limits = { max: 3, maxOfOne: 3, idleMs: 1000 };
const by = (subscriber: string, owner = "") => ({ owner, subscriber });

it("moves forward only", () => {
  const cursors = new Cursors(limits);
  expect(cursors.position(by("a"), 0)).toBe(0n);
  expect(cursors.advance(by("a"), 5n, 1)).toEqual({ owner: "", subscriber: "a", seq: 5n, at: 1 });
  expect(cursors.advance(by("a"), 3n, 2)).toBeUndefined();
  expect(cursors.advance(by("a"), 5n, 2)).toBeUndefined();
  expect(cursors.position(by("a"), 3)).toBe(5n);
});

it("forgets a cursor that was unused for long, and counts every call as use", () => {
  const cursors = new Cursors(limits);
  cursors.advance(by("a"), 5n, 0);
  cursors.advance(by("b"), 7n, 0);
  expect(cursors.position(by("b"), 900)).toBe(7n);
  expect(cursors.position(by("a"), 1000)).toBe(0n);
  expect(cursors.list(1500)).toEqual([{ owner: "", subscriber: "b", seq: 7n, at: 900 }]);
});

it("gives the place of the cursor that was idle longest to a new one", () => {
  const cursors = new Cursors(limits);
  for (const [i, name] of ["a", "b", "c"].entries()) cursors.advance(by(name), 1n, i);
  cursors.position(by("a"), 5);
  cursors.advance(by("d"), 1n, 6);
  expect(cursors.list(7).map(({ subscriber }) => subscriber)).toEqual(["c", "a", "d"]);
});

it("does not make room for a caller that only asks", () => {
  const cursors = new Cursors(limits);
  for (let i = 0; i < 10; i++) cursors.position(by(`reader ${i}`), i);
  expect(cursors.list(10)).toEqual([]);
});

it("continues with the cursors of an earlier process", () => {
  const cursors = new Cursors(limits, [
    { owner: "", subscriber: "new", seq: 9n, at: 50 },
    { owner: "", subscriber: "old", seq: 4n, at: 10 },
  ]);
  expect([cursors.position(by("old"), 60), cursors.position(by("new"), 60)]).toEqual([4n, 9n]);
  cursors.clear();
  expect(cursors.position(by("new"), 61)).toBe(0n);
});

it("keeps the same name of two owners apart", () => {
  const cursors = new Cursors(limits);
  cursors.advance(by("x", "ann"), 5n, 0);
  cursors.advance(by("x", "bob"), 2n, 1);
  expect([cursors.position(by("x", "ann"), 2), cursors.position(by("x", "bob"), 2)]).toEqual([5n, 2n]);
});

it("drops the longest unused position of an owner over its share, and no other owner's", () => {
  const cursors = new Cursors({ max: 5, maxOfOne: 3, idleMs: 1000 });
  cursors.advance(by("x", "ann"), 1n, 0);
  for (let i = 0; i < 10; i++) cursors.advance(by(`b${i}`, "bob"), 1n, i);
  expect(cursors.list(11).map(({ subscriber }) => subscriber)).toEqual(["x", "b7", "b8", "b9"]);
});

it("gives an owner without cursors a place of the owner who has the most", () => {
  const cursors = new Cursors({ max: 4, maxOfOne: 3, idleMs: 1000 });
  for (const [i, name] of ["a1", "a2", "a3"].entries()) cursors.advance(by(name, "ann"), 1n, i);
  cursors.advance(by("b1", "bob"), 1n, 3);
  cursors.advance(by("c1", "cat"), 1n, 4);
  expect(cursors.list(5).map(({ subscriber }) => subscriber)).toEqual(["a2", "a3", "b1", "c1"]);
});
