import { describe, expect, it } from "vitest";
import { inertJson, quotedText, shownText } from "./quoted-text.ts";

/** The characters that a terminal or an editor may obey. */
const OBEYED = /[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/;

const HOSTILE = ["a\nb", "a\x1b[31mred", "a\x9d0;title", "a\x9b2J", "a\u202eb", "a\u2028b", "a\x7fb", "\ud800"];

describe("an untrusted text", () => {
  it.each(HOSTILE)("is quoted without control characters and without losing anything: %j", (text) => {
    expect(quotedText(text)).not.toMatch(OBEYED);
    expect(JSON.parse(quotedText(text))).toBe(text);
    expect(shownText(text)).toBe(quotedText(text));
  });

  it("has no quotes if it needs none", () => {
    expect(shownText("spiffe://own/client/a b")).toBe("spiffe://own/client/a b");
  });

  it("with a comma is quoted, because it would look like two texts", () => {
    expect(shownText("a.example, b.example")).toBe('"a.example, b.example"');
  });

  it("is cut if it is long", () => {
    expect(shownText("a".repeat(10_240))).toBe(`"${"a".repeat(256)}…"`);
  });

  it("is unchanged in JSON", () => {
    const value = { [HOSTILE.join("")]: HOSTILE };
    expect(inertJson(JSON.stringify(value))).not.toMatch(OBEYED);
    expect(JSON.parse(inertJson(JSON.stringify(value)))).toEqual(value);
  });
});
