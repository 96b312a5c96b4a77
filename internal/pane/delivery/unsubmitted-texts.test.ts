import { describe, expect, it } from "vitest";
import { composerOf } from "../../../test/fakes/fake-pane.ts";
import { UNSUBMITTED_KEEP, UnsubmittedTexts } from "./unsubmitted-texts.ts";

const QUIET = 1000;

function standing(...texts: string[]): UnsubmittedTexts {
  const known = new UnsubmittedTexts();
  for (const text of texts) known.left(text);
  return known;
}

const folded = (text: string) => ({ ...composerOf(text), pasteMarkers: text.split("[Pasted").length - 1 });

describe("our texts that may be in the composer", () => {
  it.each([
    ["one", ["look at the tests"], "look at the tests"],
    ["a wrapped one", ["look at the tests"], "look at\nthe tests"],
    ["two in a row", ["look at the tests", "and at the docs"], "look at the testsand at the docs"],
    ["the first of two", ["look at the tests", "and at the docs"], "look at the tests"],
    ["the last of two", ["look at the tests", "and at the docs"], "and at the docs"],
    ["two drawn with artefacts", ["மனார் слово", "쳱퓠귗 বাংলা"], "மனார் лово쳱퓠귗 বাংলা"],
    ["only symbols", ["👍🏽 !?"], "👍 !?"],
  ])("are recognised: %s", (_, texts, text) => {
    expect(standing(...texts).isOurs(composerOf(text), QUIET, 0)).toBe(true);
  });

  it.each([
    ["a person's text", "by hand"],
    ["a text followed by a person's", "look at the tests by hand"],
    ["a text preceded by a person's", "please look at the tests"],
    ["a text with a person's inside", "look at all the tests"],
    ["a text changed by a person", "look at tests"],
    ["the beginning of a text", "look at the"],
    ["the end of a text", "the tests"],
    ["two texts in another order", "and at the docslook at the tests"],
  ])("are not recognised in %s", (_, text) => {
    expect(standing("look at the tests", "and at the docs").isOurs(composerOf(text), QUIET, 0)).toBe(false);
  });

  it("are recognised in a folded paste by the size that its marker shows; a person's paste is not", () => {
    const lines = standing("one\ntwo\nthree\nfour\nfive");
    expect(lines.knows(folded("[Pasted text #1 +4 lines]"))).toBe(true);
    expect(lines.knows(folded("[Pasted text #1 +7 lines]"))).toBe(false);
    expect(lines.knows(folded("[Pasted text #1]"))).toBe(false);
    expect(lines.knows(folded("[Pasted text #1 +4 lines] by hand"))).toBe(false);
    expect(lines.knows(folded("[Pasted text #1 +4 lines][Pasted text #2 +4 lines]"))).toBe(false);
    expect(standing("x".repeat(1200)).knows(folded("[Pasted Content 1200 chars]"))).toBe(true);
    expect(standing("x".repeat(1200)).knows(folded("[Pasted Content 1201 chars]"))).toBe(false);
  });

  it("are dropped once the composer has been seen empty: the same words later are a person's", () => {
    const known = standing("look at the tests");
    expect(known.isOurs(composerOf(""), 10, 0)).toBe(true); // half drawn, perhaps
    expect(known.isOurs(composerOf("look at the tests"), QUIET, 0)).toBe(true);
    expect(known.isOurs(composerOf(""), QUIET, 0)).toBe(true);
    expect(known.isOurs(composerOf("look at the tests"), QUIET, 0)).toBe(false);
  });

  it("are kept while the agent draws nothing", () => {
    const known = standing("look at the tests");
    known.undrawn(5000);
    for (const now of [6000, 50_000]) known.isOurs(composerOf(""), now - 4000, now); // printed nothing since
    expect(known.isOurs(composerOf("look at the tests"), QUIET, 51_000)).toBe(true);
  });

  it("may appear late, up to ten seconds after the agent has drawn something else", () => {
    const known = standing("look at the tests");
    known.undrawn(5000);
    for (const now of [7000, 16_000]) known.isOurs(composerOf(""), QUIET, now);
    expect(known.isOurs(composerOf("look at the tests"), QUIET, 16_500)).toBe(true);
    known.isOurs(composerOf(""), QUIET, 17_500);
    expect(known.isOurs(composerOf("look at the tests"), QUIET, 18_000)).toBe(false);
  });

  it("are dropped beyond a limit, the oldest first", () => {
    const texts = Array.from({ length: UNSUBMITTED_KEEP + 1 }, (_, i) => `text number ${i}`);
    expect(standing(...texts).knows(composerOf("text number 0"))).toBe(false);
    expect(standing(...texts).knows(composerOf("text number 1"))).toBe(true);
  });
});

describe("residue on the screen of an empty composer", () => {
  it("is not a draft, and is dropped once the composer has been seen without it", () => {
    const known = standing();
    expect(known.noteResidue("      ᜎᜍ")).toBe(true);
    expect(known.isEmpty(composerOf("      ᜎᜍ"))).toBe(true);
    expect(known.isEmpty(composerOf("       ᜍ"))).toBe(true);
    expect(known.isEmpty(composerOf("ᜎᜍ"))).toBe(false);
    expect(known.isEmpty(composerOf("      ᜎᜍx"))).toBe(false);
    known.isOurs(composerOf(""), QUIET, 0);
    expect(known.isEmpty(composerOf("      ᜎᜍ"))).toBe(false);
  });
});
