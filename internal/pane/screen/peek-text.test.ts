import { describe, expect, it } from "vitest";
import { joinRows, lastLines, PEEK_MAX_BYTES } from "./peek-text.ts";

const SCREEN = 50;
const numbered = (count: number) => Array.from({ length: count }, (_, i) => `line ${i + 1}`);

describe("the last lines", () => {
  it.each([1, 5, SCREEN, SCREEN + 1, 999, 1000, 1001, Number.POSITIVE_INFINITY])("are exactly %d", (count) => {
    const all = numbered(1000);
    const { output, truncated } = lastLines(all, count);
    expect(output.split("\n")).toEqual(count >= 1000 ? all : all.slice(-count));
    expect(truncated).toBe(false);
  });

  it.each([
    ["blank rows below the text do not count", ["a", "b", "", "  "], 2, "a\nb"],
    ["blank rows within the text count", ["a", "", "b", ""], 2, "\nb"],
    ["blank rows above the text count", ["", "", "a"], 3, "\n\na"],
    ["a screen without text is empty", ["", "  ", ""], 5, ""],
    ["no rows at all", [], 5, ""],
  ])("%s", (_, rows, count, output) => {
    expect(lastLines(rows, count)).toEqual({ output, truncated: false });
  });

  it("leave out trailing lines that the caller's check calls blank", () => {
    const styled = ["text", "\x1b[31m\x1b[0m"];
    expect(lastLines(styled, 5, (line) => line.replace(/\x1b\[\d*m/g, "") === "").output).toBe("text");
  });

  it("stay within 3 MiB: older lines are dropped, and that is reported", () => {
    const lines = Array.from({ length: 5 }, (_, i) => `${i}`.repeat(1024 * 1024 - 1));
    const { output, truncated } = lastLines(lines, 5);
    expect([output.length, truncated]).toEqual([PEEK_MAX_BYTES - 1, true]);
    expect(output.startsWith("2")).toBe(true);
    expect(lastLines(lines, 3)).toEqual({ output, truncated: false });
  });

  it("count bytes, not characters", () => {
    const lines = ["é".repeat(1024 * 1024), "é".repeat(1024 * 1024)];
    expect(lastLines(lines, 2)).toEqual({ output: lines[1], truncated: true });
  });

  it("contain the end of a single line that is too long", () => {
    const { output, truncated } = lastLines(["first", `${"é".repeat(2 * 1024 * 1024)}end`], 2);
    expect(truncated).toBe(true);
    expect(output).toMatch(/^é+end$/);
    const bytes = Buffer.byteLength(output);
    expect(bytes).toBeLessThanOrEqual(PEEK_MAX_BYTES);
    expect(bytes).toBeGreaterThan(PEEK_MAX_BYTES - 4);
  });
});

describe("joined rows", () => {
  const row = (text: string, wrapped = false) => ({ text, wrapped });
  it.each([
    ["lines of one row", [row("a"), row("b")], ["a", "b"]],
    ["a wrapped line", [row("aaa "), row("bbb", true), row("c")], ["aaa bbb", "c"]],
    ["a line over three rows", [row("a"), row("b", true), row("c  ", true)], ["abc"]],
    ["a first row without its beginning", [row("tail", true), row("b")], ["tail", "b"]],
    ["none", [], []],
  ])("%s", (_, rows, lines) => {
    expect(joinRows(rows)).toEqual(lines);
  });
});
