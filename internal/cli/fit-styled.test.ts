import { expect, it } from "vitest";
import { fitStyled } from "./fit-styled.ts";

it.each([
  ["abc", 5, "abc  "],
  ["abcdef", 4, "abcd"],
  ["日本語", 5, "日本 "],
  ["", 2, "  "],
  ["\x1b[31mabc\x1b[0m", 2, "\x1b[31mab\x1b[0m"],
  ["\x1b[31mab", 4, "\x1b[31mab\x1b[0m  "],
])("fits %j into %d columns", (text, columns, fitted) => {
  expect(fitStyled(text, columns)).toBe(fitted);
});
