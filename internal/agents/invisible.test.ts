import { describe, expect, it } from "vitest";
import { withoutInvisible } from "./invisible.ts";

describe("withoutInvisible", () => {
  it.each([
    ["a\u200bb", "ab"],
    ["a\u2066b\u202ec", "abc"],
    ["a\u200db", "ab"],
    ["soft\u00adhyphen", "softhyphen"],
    ["tag\u{e0041}ged", "tagged"],
    ["123\u200e x", "123 x"],
    ["葛\u{e0100} x", "葛 x"],
    ["a\u2028b\u2029c", "a\nb\nc"],
    ["a\ufffbb", "ab"],
  ])("makes %j into %j", (text, plain) => expect(withoutInvisible(text)).toBe(plain));

  it.each([
    "می\u200cخواهم",
    "क\u094d\u200dष",
    "سلام\u200f x",
    "☺\ufe0f ❤\ufe0f\u200d🔥",
    "1\ufe0f\u20e3",
    "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "👩🏽\u200d🚀 👩\u200d👧",
    "\u1820\u180b",
    "plain, 漢字, e\u0301",
  ])("leaves %j", (text) => expect(withoutInvisible(text)).toBe(text));
});
