import { expect, it } from "vitest";
import { findAgain } from "./line-match.ts";

const lines = (...texts: readonly string[]) => texts.map((text) => ({ text }));
const blank = (count: number) => Array.from({ length: count }, () => "");
const found = (before: readonly string[], after: readonly string[]) => {
  const { partOf } = findAgain(lines(...before), lines(...after));
  return after.filter((text, i) => text !== "" && before[partOf[i] ?? -1] === text);
};

it("finds the text again with more blank lines below it than before", () => {
  const before = ["reported", ...blank(40), "one", "two", ...blank(5)];
  expect(found(before, ["reported", ...blank(24), "one", "two", ...blank(17)])).toEqual(["reported", "one", "two"]);
});

it("finds the text again below new blank lines", () => {
  const before = ["one", "two", ...blank(1), "three", "four", ...blank(40), "five"];
  const after = [...blank(20), "one", "two", ...blank(7), "three", "four", ...blank(16), "five"];
  expect(found(before, after)).toEqual(["one", "two", "three", "four", "five"]);
});

it("finds a line that is split in two after blank lines", () => {
  const { partOf, isBroken } = findAgain(lines("one", "", "long line"), lines("one", "", "", "long", " line"));
  expect([[...partOf], isBroken]).toEqual([[0, -1, -1, 2, 2], [2]]);
});
