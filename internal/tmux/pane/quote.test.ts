import { describe, expect, it } from "vitest";
import { formatLiteral, quoteArgument, quoteShell } from "./quote.ts";

describe("quoteArgument", () => {
  it.each([
    ["plain", '"plain"'],
    ["", '""'],
    ['say "hi"', '"say \\"hi\\""'],
    ["back\\slash", '"back\\\\slash"'],
    ["$HOME ~ #{pane_id} `id`", '"\\$HOME \\~ #{pane_id} `id`"'],
    ["a\nb\r\tc\x1b[", '"a\\nb\\r\\tc\\e["'],
    ["\x01\x07\x1f\x7f", '"\\001\\007\\037\\177"'],
    ["漢字 👨‍👩‍👧 é", '"漢字 👨‍👩‍👧 é"'],
    ["it's; {x}", '"it\'s; {x}"'],
  ])("writes %j as %s", (text, quoted) => {
    expect(quoteArgument(text)).toBe(quoted);
  });

  it("separates an octal escape from the digits after it", () => {
    expect(quoteArgument("\x017")).toBe('"\\0017"');
  });

  it("refuses NUL, which tmux cannot carry", () => {
    expect(() => quoteArgument("a\0b")).toThrow(expect.objectContaining({ kind: "invalid" }));
  });
});

describe("quoteShell", () => {
  it("quotes a text as one word for sh", () => {
    expect(quoteShell("it's $HOME")).toBe("'it'\\''s $HOME'");
  });

  it("refuses NUL", () => {
    expect(() => quoteShell("\0")).toThrow(expect.objectContaining({ kind: "invalid" }));
  });
});

describe("formatLiteral", () => {
  it("doubles the characters that a format would expand", () => {
    expect(formatLiteral("/a#{pid}/%d")).toBe("/a##{pid}/%d");
    expect(formatLiteral("/a#{pid}/%d", { time: true })).toBe("/a##{pid}/%%d");
  });

  it("refuses text that cannot be escaped", () => {
    expect(() => formatLiteral("/a#[bold]")).toThrow(expect.objectContaining({ kind: "invalid" }));
  });
});
