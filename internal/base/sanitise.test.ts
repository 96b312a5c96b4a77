import { describe, expect, it } from "vitest";
import { fc } from "../../test/support/property.ts";
import { plainText, styledText } from "./sanitise.ts";

const RED = "\x1b[31m";
const RESET = "\x1b[0m";

describe("plainText", () => {
  it.each([
    ["plain text with a tab\tand\nlines", "plain text with a tab\tand\nlines"],
    [`${RED}red${RESET}`, "red"],
    ["\x9b31mred", "red"],
    ["\x1b[2J\x1b[1;1Hhome", "home"],
    ["a\x1b]0;title\x07b", "ab"],
    ["a\x1b]52;c;c2VjcmV0\x1b\\b", "ab"],
    ["a\x9d0;title\x9cb", "ab"],
    ["a\x1bPq#0\x1b\\b", "ab"],
    ["a\x1b]0;never ended", "a"],
    ["a\x1b(0b", "ab"],
    ["a\x1bcb", "ab"],
    ["a\x1b", "a"],
    ["a\r\n\x07\b\x7fb", "a\nb"],
    ["abc\u202ecba\u2066x\u2069", "abccbax"],
    ["\x1b\x1b[31m[32mx", "[32mx"],
    ["日本 👩‍👩‍👧 é", "日本 👩‍👩‍👧 é"],
  ])("%j → %j", (text, plain) => {
    expect(plainText(text)).toBe(plain);
  });
});

describe("styledText", () => {
  it.each([
    ["nothing styled", "nothing styled"],
    [`${RED}red`, `${RED}red${RESET}`],
    ["\x1b[38:2::1:2:3mx", `\x1b[38:2::1:2:3mx${RESET}`],
    ["\x1b[m", `\x1b[m${RESET}`],
    ["\x1b[?1mx", "x"],
    ["\x1b[>4;2mx", "x"],
    ["\x1b[2Jx\x1b]52;c;eA==\x07y\x07", "xy"],
    ["\x9b31mx", "x"],
  ])("%j → %j", (text, styled) => {
    expect(styledText(text)).toBe(styled);
  });
});

const hostile = fc
  .array(
    fc.constantFrom("\x1b", "[", "]", "31", "m", ";", "\x07", "\\", "P", "\x9b", "\x9c", "\x9d", "\x00", "a", "\n"),
  )
  .map((parts) => parts.join(""));

it("leaves no control character but TAB and LF, whatever the input", () => {
  fc.assert(
    fc.property(hostile, (text) => {
      expect(plainText(text)).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
    }),
  );
});

it("leaves no escape sequence but styling, whatever the input", () => {
  fc.assert(
    fc.property(hostile, (text) => {
      expect(styledText(text).replace(/\x1b\[[0-9;:]*m/g, "")).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
    }),
  );
});
