import { expect, it } from "vitest";
import { PrintableText, printable } from "./printable-text.ts";

const HOSTILE = "a\x1b]0;t\x07b\x1b[31mc\x9b2Jd\u202ee\nf\r\tg\x7f";

it("cleans the values of a template and keeps it on one line", () => {
  expect(String(printable`one\n${HOSTILE} ${3}`)).toBe("one\nabcde f g 3");
});

it("keeps the styling of a printable value, and of no other", () => {
  const styled = PrintableText.inStyle(32, HOSTILE);
  expect(String(printable`${styled} ${styled.toString()}`)).toBe("\x1b[32mabcde f g\x1b[0m abcde f g");
});

it("keeps lines and styling of an agent's output, and no other control sequence", () => {
  expect(String(PrintableText.plain(HOSTILE))).toBe("abcde\nf\tg");
  expect(String(PrintableText.styled(HOSTILE))).toBe("ab\x1b[31mcde\nf\tg\x1b[0m");
});

it("writes JSON without control sequences that every program reads", () => {
  const value = { text: "\x1b[2J\x9b1m\u202ex\x7f\u200f日", n: 5n };
  const text = String(PrintableText.json(value));
  expect(text).not.toMatch(/[\x00-\x1f\x7f-\x9f\u200f\u202e]/);
  expect(JSON.parse(text)).toEqual({ ...value, n: 5 });
});

it("does not accept a string that was not cleaned", () => {
  const line = (text: PrintableText) => String(text);
  // @ts-expect-error: a plain string does not compile
  expect(line("raw")).toBe("raw");
});
