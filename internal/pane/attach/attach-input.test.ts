import { describe, expect, it } from "vitest";
import { fc } from "../../../test/support/property.ts";
import { AttachInputParser, isTyping, type KeyPiece, PASTE_MAX_BYTES } from "./attach-input.ts";

function parsed(...chunks: readonly (string | Uint8Array)[]): readonly string[] {
  const parser = new AttachInputParser();
  return joined([...chunks.flatMap((chunk) => parser.push(Buffer.from(chunk as string))), ...parser.flush()]);
}

/** Adjacent keys count as one. */
function joined(pieces: readonly KeyPiece[]): readonly string[] {
  const texts: string[] = [];
  for (const piece of pieces) {
    const text = piece.type === "paste" ? `paste ${piece.text}` : `keys ${piece.data.toString("latin1")}`;
    const last = texts.at(-1);
    if (piece.type === "keys" && last?.startsWith("keys ")) texts[texts.length - 1] = last + text.slice(5);
    else texts.push(text);
  }
  return texts;
}

describe("AttachInputParser", () => {
  it("passes keys on at once, including a single Escape", () => {
    const parser = new AttachInputParser();
    expect(joined(parser.push(Buffer.from("a\x1b")))).toEqual(["keys a\x1b"]);
    expect(joined(parser.push(Buffer.from("\x1b[A")))).toEqual(["keys \x1b[A"]);
    expect(parser.isWaiting).toBe(false);
  });

  it("strips the brackets from a paste", () => {
    expect(parsed("a\x1b[200~two\nlines\x1b[201~b")).toEqual(["keys a", "paste two\nlines", "keys b"]);
    expect(parsed("\x1b[200~\x1b[201~")).toEqual([]);
    expect(parsed("\x1b[200~nul\0\x1b[201~")).toEqual(["paste nul"]);
  });

  it("releases an unfinished paste on request, and accepts keys again", () => {
    const parser = new AttachInputParser();
    expect(parser.push(Buffer.from("\x1b[200~half"))).toEqual([]);
    expect(parser.isWaiting).toBe(true);
    expect(joined(parser.flush())).toEqual(["paste half"]);
    expect(joined(parser.push(Buffer.from("x")))).toEqual(["keys x"]);
  });

  it("splits an overlong paste at a character boundary", () => {
    const text = "日".repeat(PASTE_MAX_BYTES / 2);
    const pieces = new AttachInputParser().push(Buffer.from(`\x1b[200~${text}\x1b[201~`));
    expect(pieces.map((piece) => (piece.type === "paste" ? piece.text : "keys")).join("")).toBe(text);
    const parser = new AttachInputParser();
    const slow = [...Buffer.from(`\x1b[200~${text}\x1b[201~`)];
    const found: KeyPiece[] = [];
    for (let at = 0; at < slow.length; at += 10_007) {
      found.push(...parser.push(Buffer.from(slow.slice(at, at + 10_007))));
    }
    expect(found.length).toBeGreaterThan(1);
    expect(found.map((piece) => (piece.type === "paste" ? piece.text : "keys")).join("")).toBe(text);
  });

  it("returns the same inputs, wherever the bytes are split", () => {
    const part = fc.constantFrom("\x1b[200~", "\x1b[201~", "\x1b[20", "\x1b", "abc", "日", "\r");
    const cuts = fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 6 });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), cuts, (parts, at) => {
        const data = Buffer.from(parts.join(""));
        const edges = [0, ...at.filter((cut) => cut < data.length).sort((a, b) => a - b), data.length];
        const chunks = edges.slice(1).map((edge, i) => data.subarray(edges[i], edge));
        // A cut right after an ESC makes it a key of its own, as if the person had pressed Escape.
        if (chunks.slice(0, -1).some((chunk) => chunk.at(-1) === 0x1b)) return;
        expect(parsed(...chunks)).toEqual(parsed(data));
      }),
    );
  });
});

it.each([
  ["a", true],
  ["\x1b[A", true],
  ["\r", true],
  ["\x1b[<0;3;4M\x1b[<0;3;4m", false],
  ["\x1b[M !!", false],
  ["\x1b[I", false],
  ["\x1b[<35;3;4Mx", true],
])("detects whether a person types: %j", (data, typing) => {
  expect(isTyping(Buffer.from(data))).toBe(typing);
});
