import { expect, it } from "vitest";
import { clipStyled, fitStyled } from "./styled-width.ts";

it.each([
  ["abc", 5, "abc  "],
  ["abcdef", 4, "abc…"],
  ["日本語", 5, "日本…"],
  ["", 2, "  "],
  ["\x1b[31mabc\x1b[0m", 2, "\x1b[31ma…\x1b[0m"],
  ["\x1b[31mab", 4, "\x1b[31mab\x1b[0m  "],
])("fits %j into %d columns", (text, columns, fitted) => {
  expect(fitStyled(text, columns)).toBe(fitted);
});

it.each([
  ["\x1b[31mabc\x1b[0m", 3, "\x1b[31mabc\x1b[0m"],
  ["\x1b[31mabc\x1b[0mdef", 6, "\x1b[31mabc\x1b[0mdef"],
  ["\x1b[31mabc\x1b[0mdef", 4, "\x1b[31mabc\x1b[0m…"],
  ["\x1b[31mabc\x1b[0mdef", 3, "\x1b[31mab…\x1b[0m"],
  ["\x1b[31mabc\x1b[0mdef", 2, "\x1b[31ma…\x1b[0m"],
  ["日本語", 4, "日…"],
  ["", 4, ""],
])("clips %j to %d columns as %j", (text, columns, expected) => {
  expect(clipStyled(text, columns)).toBe(expected);
});
