import { expect, it } from "vitest";
import { clipText, textWidth } from "./text-width.ts";

it.each([
  ["", 0],
  ["abc", 3],
  ["é", 1],
  ["e\u0301", 1],
  ["日本語", 6],
  ["한글", 4],
  ["ａ", 2],
  ["👍", 2],
  ["👩‍💻", 2],
  ["✳ demo", 6],
  ["⏳", 2],
  ["❯ 1.", 4],
  ["────", 4],
  ["\u00ad", 1],
  ["a\u0007b", 2],
])("counts the columns of %j as %d", (text, width) => {
  expect(textWidth(text)).toBe(width);
});

it("clips to the given columns and never splits a wide character", () => {
  expect(clipText("abcdef", 6)).toBe("abcdef");
  expect(clipText("abcdef", 4)).toBe("abc…");
  expect(clipText("日本語", 4)).toBe("日…");
  expect(clipText("日本語", 5)).toBe("日本…");
  expect(clipText("abc", 0)).toBe("");
});
