import { expect, it } from "vitest";
import { LineCutter } from "./line-cutter.ts";

const cut = (lines: LineCutter, text: string) =>
  lines.push(Buffer.from(text)).map(({ bytes, lostBytes }) => [bytes.toString(), lostBytes]);

it("keeps empty lines and carriage returns, and returns the rest as the last line", () => {
  const lines = new LineCutter(9);
  expect(cut(lines, "a\r\n\nb")).toEqual([
    ["a\r", 0],
    ["", 0],
  ]);
  expect(lines.end()).toEqual({ bytes: Buffer.from("b"), lostBytes: 0 });
  expect(lines.end()).toBe(undefined);
});

it("counts the bytes dropped from a line that has not ended", () => {
  const lines = new LineCutter(4);
  expect([cut(lines, "abcd"), lines.lostBytes]).toEqual([[], 0]);
  expect([cut(lines, "ef"), lines.lostBytes]).toEqual([[], 2]);
  expect([cut(lines, "\n"), lines.lostBytes]).toEqual([[["abcd", 2]], 0]);
});
