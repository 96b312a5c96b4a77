import { describe, expect, it } from "vitest";
import { DrawnLetters, lettersOf } from "./drawn-letters.ts";

const matches = (message: string, seen: string, isClipped = false) =>
  new DrawnLetters(message).matches(lettersOf(seen), isClipped);

describe("a drawing of a text", () => {
  // Each was drawn so by a real agent (Codex 0.169.0, Claude Code 2.1.197, OpenCode 1.18.33) under tmux 3.3a.
  it.each([
    ["йчефэщш மனார் ბშშჩპ 𝐙𝐍𝐚𝐅 쳱퓠귗", "йчефэщш மனார் ბშშჩპ 𝐙𝐍𝐚𝐅  퓠귗"],
    ["ᐈᔚᔾ … 𞤏𞤩𞤆𞤲 বাংলা ਟਐਓ 𒁩𒈨𒇍", "ᐈᔚᔾ … 𞤏𞤩𞤆𞤲 বাংਟਐਓ 𒁩𒈨𒇍"],
    ["डोकाऻॉउै 𓋳𓄡𓂤𓎸𓋗 ＨＴ", "डोका𓋳𓄡𓂤𓎸𓋗 ＨＴ"],
    ["ஓஶேோஐஔ் ĹĪŉŘ", "ஓஶேோஐĹĪŉŘ"],
    ["ਜਥੈਜਚਜਉ ᅡ 𒈄𒌡𒊧", "ਜਥੈਜਚਜਉ  𒈄𒌡𒊧"],
    ["ﾔﾕﾉ ξδεχψνε ᄎᄐᄄᄒᄅᄂᄌ", "ﾔﾕﾉ ξδεχψνε ᄎᄐ"],
    ["f8 ഺ tshnzi 𓉥𓋧", "f8  tshnzi 𓉥𓋧"],
    ["ఘి఼్క ޕޗސޣމޏބ ᑮᓎᔥᖴᓂᐔᖻᖜ 맜뷷 տֆխեխըտ", "ఘి఼్ ޕޗސޣމޏބ ᑮᓎᔥᖴᓂᐔᖻᖜ 맜뷷 տֆխեխըտ"],
    ["plain words 2", "│ plain\n  words 2"],
  ])("%s", (message, seen) => {
    expect(matches(message, seen)).toBe(true);
  });

  it("may lack letters only after a character of disputed width, and no more than columns are in dispute", () => {
    expect(matches("plain words", "plain wods")).toBe(false);
    expect(matches("漢字 and кириллица", "漢 and кириллица")).toBe(false);
    expect(matches("слово மனார் слово", "слов மனார் слово")).toBe(false);
    expect(matches("слово மனார் слово", "слово மனார் лово")).toBe(true);
    expect(matches("слово மனார் слово", "слово மனார் ово")).toBe(false);
  });

  it("never contains additional letters, which are a person's", () => {
    for (const seen of ["x மனார் слово", "மனார் словоx", "மனаார் слово", "மனார் сллово"])
      expect(matches("மனார் слово", seen)).toBe(false);
  });

  it("may be scrolled to its end", () => {
    const message = `${"слово ".repeat(20)}மனார் конец`;
    expect(matches(message, message.slice(40), true)).toBe(true);
    expect(matches(message, message.slice(40).replace("ко", "о"), true)).toBe(true);
    expect(matches(message, message.slice(40, -2), true)).toBe(false);
  });
});
