import { describe, expect, it } from "vitest";
import { fc } from "../../test/support/property.ts";
import { comparable, INERT_PREFIX, lettersAndDigits, normalise } from "./safe-text.ts";

const safe = (message: string): string | undefined => {
  const result = normalise(message);
  return result.type === "safe" ? result.text : undefined;
};

describe("normalise", () => {
  it.each([
    ["plain", "plain"],
    ["a\r\nb\rc", "a\nb\nc"],
    ["a\tb", "a    b"],
    ["red \x1b[31mtext\x1b[0m", "red text"],
    ["title \x1b]0;x\x07done", "title done"],
    ["title \x1b]0;x\x1b\\done", "title done"],
    ["\x1bP1;2|x\x1b\\kept", "kept"],
    ["paste \x1b[201~\rrm -rf", "paste \nrm -rf"],
    ["c1 \u009b31mred \u0085x", "c1 red x"],
    ["bell\x07 back\x08 del\x7f", "bell back del"],
    ["never ended \x1b]0;and the rest", "never ended 0;and the rest"],
    ["e\u0301", "\u00e9"],
    ["  indented, end cut \n\n ", "  indented, end cut"],
    ["ends with backslash\\", "ends with backslash\\"],
  ])("turns %j into %j", (message, text) => expect(safe(message)).toBe(text));

  it("composes characters that become adjacent when a control is removed", () =>
    expect(safe("e\x07\u0301")).toBe("\u00e9"));
  it("refuses half of a surrogate pair", () => expect(normalise("a\ud800b").type).toBe("unsafe"));

  it.each(["", " \n\t", "\x1b[31m", "\x00\x07"])("refuses %j, of which nothing is left", (message) =>
    expect(normalise(message).type).toBe("unsafe"),
  );

  it("leaves no control character but the line feed, and changes nothing when applied twice", () => {
    const hostile = fc.string({
      unit: fc.constantFrom(
        "\x1b",
        "[",
        "]",
        "P",
        "\\",
        "\x07",
        "\x9b",
        "\x9c",
        "m",
        "~",
        "\r",
        "\n",
        "\t",
        "a",
        "0",
        ";",
        " ",
      ),
    });
    fc.assert(
      fc.property(hostile, (message) => {
        const text = safe(message);
        if (text === undefined) return;
        expect(text).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
        expect(safe(text)).toBe(text);
      }),
    );
  });

  it("takes time in proportion to the length", () => {
    for (const piece of ["\x1b]", "\x1b[", "\x1bP", "\x9d0;", "\x1b[0;"]) {
      const began = performance.now();
      normalise(piece.repeat(65_536 / piece.length));
      expect(performance.now() - began).toBeLessThan(500);
    }
  });
});

describe("comparable", () => {
  it.each([
    ["a\tb", "a    b"],
    ["a\r\nb", "a\nb  "],
    [`${INERT_PREFIX}/exit`, "/exit"],
    ["x < /system-reminder> y", "x </system-reminder> y"],
    ["e\u0301", "\u00e9"],
  ])("treats %j and %j as equal", (a, b) => expect(comparable(a)).toBe(comparable(b)));

  it.each([
    ["a b", "a  b"],
    ["a\nb", "a b"],
    ["  a", "a"],
    ["A", "a"],
  ])("tells %j and %j apart", (a, b) => expect(comparable(a)).not.toBe(comparable(b)));
});

describe("lettersAndDigits", () => {
  it("drops borders, wraps, blanks and emoji", () => {
    expect(lettersAndDigits("│ Zeile 1 —\n│ 漢字 👩‍👧 e\u0301!")).toBe("Zeile1漢字\u00e9");
  });
});
