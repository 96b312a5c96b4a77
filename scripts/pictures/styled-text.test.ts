import { expect, it } from "vitest";
import { spansOf, wrapped } from "./styled-text.ts";

const plain = (text: string) => ({ text, isBold: false, isDim: false });

it("reads bold, dim and colours, each until it is reset", () => {
  expect(spansOf("a\x1b[1;32mb\x1b[39mc\x1b[22md\x1b[2me\x1b[0mf")).toEqual([
    plain("a"),
    { ...plain("b"), isBold: true, color: "green" },
    { ...plain("c"), isBold: true },
    plain("d"),
    { ...plain("e"), isDim: true },
    plain("f"),
  ]);
});

it("reads bright colours as colours, and keeps the text of an unknown style", () => {
  expect(spansOf("\x1b[91;4mx\x1b[my")).toEqual([{ ...plain("x"), color: "red" }, plain("y")]);
});

it("wraps at the columns as a terminal does, and keeps the styles", () => {
  const rows = wrapped(spansOf("abc\x1b[1mdefg"), 2).map((row) =>
    row.map(({ text, isBold }) => (isBold ? `*${text}` : text)),
  );
  expect(rows).toEqual([["ab"], ["c", "*d"], ["*ef"], ["*g"]]);
  expect(wrapped(spansOf(""), 2)).toEqual([[]]);
});
