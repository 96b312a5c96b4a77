import { describe, expect, it } from "vitest";
import { fc } from "../../../test/support/property.ts";
import { rawKeysLine } from "./raw-keys.ts";

/** The bytes that tmux would write to the pane for such a line. */
function bytesOf(line: string): Buffer {
  const parts = line.split(/ ; (?=send-keys -t %0 -[Hl] )/).filter((part) => part !== "");
  return Buffer.concat(
    parts.map((part) => {
      const hex = /^send-keys -t %0 -H ([0-9a-f ]+)$/.exec(part)?.[1];
      if (hex !== undefined) return Buffer.from(hex.replaceAll(" ", ""), "hex");
      const text = /^send-keys -t %0 -l -- "(.*)"$/u.exec(part)?.[1];
      if (text === undefined) throw new Error(`not understood: ${part}`);
      return Buffer.from(text.replace(/\\(.)/gu, "$1"));
    }),
  );
}

describe("rawKeysLine", () => {
  it("sends keys byte by byte and text as text", () => {
    expect(rawKeysLine("%0", Buffer.from("\x1b[A"))).toBe("send-keys -t %0 -H 1b 5b 41");
    expect(rawKeysLine("%0", Buffer.from("\0"))).toBe("send-keys -t %0 -H 00");
    expect(rawKeysLine("%0", Buffer.from("hello there\r"))).toBe(
      'send-keys -t %0 -l -- "hello there" ; send-keys -t %0 -H 0d',
    );
  });

  it("sends long runs of control bytes in pieces", () => {
    expect(rawKeysLine("%0", Buffer.alloc(300, 7)).split(" ; ")).toHaveLength(3);
  });

  it("loses, adds and changes nothing, whatever the bytes are", () => {
    const part = fc.constantFrom(
      "text and more",
      "日本語",
      "😀",
      "\u200d",
      "\x1b[A",
      "\0",
      "\ufffd",
      '"$~;\\',
      "\u{10ffff}",
    );
    const text = fc.array(part, { maxLength: 6 }).map((parts) => Buffer.from(parts.join("")));
    const chunk = fc.oneof(
      fc.uint8Array({ maxLength: 60 }).map((each) => Buffer.from(each)),
      text,
    );
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 4 }), (chunks) => {
        const data = Buffer.concat(chunks);
        expect(bytesOf(rawKeysLine("%0", data)).equals(data)).toBe(true);
      }),
      { numRuns: 40 },
    );
  });
});
