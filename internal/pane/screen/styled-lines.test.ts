import { expect, it } from "vitest";
import { standingAlone } from "./styled-lines.ts";

it.each([
  ["nothing styled", ["a", "b"], ["a", "b"]],
  [
    "a colour over three lines",
    ["\x1b[31ma", "b", "c\x1b[39m", "d"],
    ["\x1b[31ma", "\x1b[31mb", "\x1b[31mc\x1b[39m", "d"],
  ],
  ["a colour replaced", ["\x1b[31ma\x1b[32m", "b"], ["\x1b[31ma\x1b[32m", "\x1b[32mb"]],
  [
    "foreground and background",
    ["\x1b[38;5;9ma\x1b[48;2;1;2;3m", "b"],
    ["\x1b[38;5;9ma\x1b[48;2;1;2;3m", "\x1b[38;5;9m\x1b[48;2;1;2;3mb"],
  ],
  ["attributes that add up", ["\x1b[1ma\x1b[4mb", "c"], ["\x1b[1ma\x1b[4mb", "\x1b[1m\x1b[4mc"]],
  ["a reset", ["\x1b[1;31ma\x1b[0m", "b"], ["\x1b[1;31ma\x1b[0m", "b"]],
  ["a reset that sets something else", ["\x1b[31ma\x1b[0;4m", "b"], ["\x1b[31ma\x1b[0;4m", "\x1b[0;4mb"]],
  ["an empty reset", ["\x1b[31ma\x1b[m", "b"], ["\x1b[31ma\x1b[m", "b"]],
  ["blank lines stay blank", ["\x1b[31ma", "", "b"], ["\x1b[31ma", "", "\x1b[31mb"]],
])("%s", (_, lines, expected) => {
  expect([...standingAlone(lines)]).toEqual(expected);
});

it("does not grow with the number of changes", () => {
  const lines = Array.from({ length: 1000 }, (_, i) => `\x1b[${31 + (i % 7)}mx\x1b[0m\x1b[1m`);
  expect([...standingAlone([...lines, "end"])].at(-1)?.length).toBeLessThan(20);
});
