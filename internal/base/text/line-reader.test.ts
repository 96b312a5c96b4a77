import { describe, expect, it } from "vitest";
import { LineReader, type OutputLine } from "./line-reader.ts";

function read(maxBytes: number, ...chunks: readonly (string | Buffer)[]): OutputLine[] {
  const reader = new LineReader(maxBytes);
  const lines = chunks.flatMap((chunk) => reader.push(Buffer.from(chunk)));
  const last = reader.end();
  return last === undefined ? lines : [...lines, last];
}

const whole = (text: string) => ({ text, lostBytes: 0 });

describe("lines of a byte stream", () => {
  it.each([
    ["a\nb\n", [whole("a"), whole("b")]],
    ["a\r\nb\r\n", [whole("a"), whole("b")]],
    ["\n\n\na\n\n", [whole("a")]],
    ["a\nhalf", [whole("a"), whole("half")]],
  ])("%j", (text, lines) => {
    expect(read(100, text)).toEqual(lines);
  });

  it("joins a line and a character that are split anywhere", () => {
    const bytes = Buffer.from("größe 漢字 👩‍💻\nnext\n");
    for (let at = 0; at <= bytes.length; at++) {
      expect(read(100, bytes.subarray(0, at), bytes.subarray(at))).toEqual([whole("größe 漢字 👩‍💻"), whole("next")]);
    }
  });

  it("keeps the beginning of a line that is too long, counts the rest, and continues with the next line", () => {
    expect(read(4, "abcdef", "ghi\nnext\n")).toEqual([{ text: "abcd", lostBytes: 5 }, whole("next")]);
  });

  it("splits no character", () => {
    expect(read(4, "ab漢字\n")).toEqual([{ text: "ab", lostBytes: 4 }]);
  });

  it("makes invalid bytes visible", () => {
    expect(read(9, Buffer.from([0xff, 0x61, 0x0a]))).toEqual([whole("\ufffda")]);
  });

  it("holds no more than its limit, whatever the input", () => {
    const reader = new LineReader(1000);
    const chunk = Buffer.alloc(65_536, "x");
    for (let count = 0; count < 1600; count++) expect(reader.push(chunk)).toEqual([]);
    expect(reader.push(Buffer.from("\n"))[0]).toEqual({ text: "x".repeat(1000), lostBytes: 1600 * 65_536 - 1000 });
  });
});
