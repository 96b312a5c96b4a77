import { describe, expect, it } from "vitest";
import { screenOf } from "../../../test/support/screens/screens.ts";
import { ComposerProbe, TailProbe } from "./probe.ts";

const LONG = "The quick brown fox jumps over the lazy dog, and then the dog chases the fox around the old barn";
const blank = screenOf([]);

function inComposer(message: string, text: string, pasteMarkers = 0): string {
  const composer = { top: 0, bottom: 0, text, pasteMarkers };
  return new ComposerProbe(message).look(blank, { composer });
}

describe("a text in a known composer", () => {
  it.each([
    // what                                      message                    composer shows                      standing
    ["nothing", "hello there", "", "absent"],
    ["the whole text", "hello there", "hello there", "there"],
    ["its beginning", "hello there", "hello", "partial"],
    ["its middle", LONG, "lazy dog", "partial"],
    ["its end, too short to decide", LONG, "old barn", "partial"],
    ["its end, scrolled", LONG, "then the dog chases the fox around the old barn", "there"],
    ["only its beginning", LONG, "The quick brown fox jumps over the lazy", "partial"],
    ["it wrapped and framed", "one two three", "│ one two\n│ three", "there"],
    ["it followed by a person's words", "hello there", "hello there and", "mixed"],
    ["it preceded by a person's words", "hello there", "so hello there", "mixed"],
    ["it with a person's words inside", "hello there my friend", "hello therexyz my friend", "mixed"],
    ["a short one with a person's letter inside", "hello there", "helxlo there", "mixed"],
    ["it with another letter in place of the last", "hello there", "hello therx", "mixed"],
    ["a person's words alone", "hello there", "something else", "absent"],
    ["it in another Unicode normalisation", "caf\u00e9", "cafe\u0301", "there"],
    ["only punctuation, whole", "...?!", "...?!", "there"],
    ["only punctuation, in part", "...?!", "...", "partial"],
    ["only punctuation against letters", "...", "wait", "absent"],
    ["only emoji", "🎉🎉 👩‍👩‍👧", "🎉🎉 👩‍👩‍👧", "there"],
    ["nothing of an emoji text", "🎉", "", "absent"],
    ["emoji without their skin tones", "👍🏽🎉", "👍🎉", "there"],
    ["emoji without joined parts", "👩🏽‍💻 ❤️", "👩 ❤", "there"],
    ["CJK text wrapped", "日本語のテキスト", "日本語の\nテキスト", "there"],
    ["the same words as a text before it", "again", "again", "there"],
    ["a text that is the tail of the one before", "the old barn", LONG, "mixed"],
  ])("%s", (_, message, shown, presence) => {
    expect(inComposer(message, shown)).toBe(presence);
  });

  it.each([
    ["a folded paste", "[Pasted text #1 +4 lines]", 1, "there"],
    ["another agent's fold", "[Pasted Content 5000 chars]", 1, "there"],
    ["a fold and the rest of the text", "[Pasted text #1 +4 lines]around the old barn", 1, "there"],
    ["several folds", "[Pasted text #1 +4 lines][Pasted text #2 +9 lines]", 2, "there"],
    ["a fold and a person's words", "[Pasted text #1 +4 lines] please", 1, "mixed"],
  ])("%s", (_, shown, markers, presence) => {
    expect(inComposer(LONG, shown, markers)).toBe(presence);
  });

  it("is hidden if there is no composer", () => {
    expect(new ComposerProbe("x").look(blank, {})).toBe("hidden");
  });
});

describe("a text that has left its composer", () => {
  const view = { composer: { top: 2, bottom: 2, text: "", pasteMarkers: 0 } };
  const repeated = (before: string[], after: string[], message = "say hello there.") =>
    new ComposerProbe(message, screenOf(before)).repeated(screenOf(after), view);

  it("is repeated alone, repeated with more right after it, or not visible", () => {
    expect(repeated(["", "", "> "], ["❯ say hello there.", "", "> "])).toBe("alone");
    expect(repeated(["", "", "> "], ["❯ say hello there.b", "", "> "])).toBe("more");
    expect(repeated(["", "", "> "], ["❯ say hello there.  12:03", "", "> "])).toBe("alone");
    expect(repeated(["", "", "> "], ["[Pasted]", "", "> "])).toBe("unseen");
  });

  it("is not confused with earlier text, nor with the content of the composer", () => {
    expect(repeated(["say hello there.b", "", ""], ["say hello there.b", "", ""])).toBe("unseen");
    expect(repeated(["", "", ""], ["", "", "say hello there.b"])).toBe("unseen");
  });

  it("is repeated with more if that follows after its own blank", () => {
    expect(repeated(["", "", ""], ["❯ a path to C:\\ b", "", ""], "a path to C:\\ ")).toBe("more");
    expect(repeated(["", "", ""], ["❯ a path to C:\\", "", ""], "a path to C:\\ ")).toBe("alone");
  });

  it("is searched only at the beginning of the repeated text if it is short", () => {
    expect(repeated(["", "", ""], ["sky", "", ""], "k")).toBe("unseen");
    expect(repeated(["", "", ""], ["› sky", "", ""], "k")).toBe("unseen");
    expect(repeated(["", "", ""], ["› k", "", ""], "k")).toBe("alone");
    expect(repeated(["", "", ""], ["› C-cb", "", ""], "C-c")).toBe("more");
    expect(repeated(["", "", ""], ["❯ kk", "", ""], "k")).toBe("more");
    expect(repeated(["› C-cb", "", ""], ["› C-cb", "", ""], "C-c")).toBe("unseen");
  });

  it("cannot be recognised if its last line alone is short", () => {
    expect(repeated(["", "", ""], ["› okay", "", ""], "two lines\nok")).toBe("unseen");
  });
});

describe("a text in an unknown program", () => {
  it("is there when its end appears, and taken when it has moved up or disappeared", () => {
    for (const after of [["> one two three four", "ok", "> "], ["ok", "> "], [">"]]) {
      const probe = new TailProbe("one two three four", screenOf(["> "]));
      expect(probe.look(screenOf(["> "]))).toBe("absent");
      expect(probe.look(screenOf(["> one two"]))).toBe("absent");
      expect(probe.look(screenOf(["> one two three four"]))).toBe("there");
      expect(probe.look(screenOf(["> one two three four"]))).toBe("there");
      expect(probe.look(screenOf(after))).toBe("absent");
    }
  });

  it("is found again if the same text was on the screen before", () => {
    const before = ["> same text here", "done", "> "];
    const probe = new TailProbe("same text here", screenOf(before));
    expect(probe.look(screenOf(before))).toBe("absent");
    expect(probe.look(screenOf([...before.slice(0, 2), "> same text here"]))).toBe("there");
    expect(probe.look(screenOf([...before.slice(0, 2), "> same text here", "done", "> "]))).toBe("absent");
  });

  it("is found further down if the earlier one scrolled away meanwhile", () => {
    const probe = new TailProbe("same text here", screenOf(["> same text here", "done", "> "]));
    expect(probe.look(screenOf(["done", "> same text here"]))).toBe("there");
  });

  it("is not found in a text that only has the same end elsewhere on the screen", () => {
    const probe = new TailProbe("and that is the end", screenOf(["this and that is the end", "> "]));
    expect(probe.look(screenOf(["this and that is the end", "> "]))).toBe("absent");
    expect(probe.look(screenOf(["this and that is the end", "> and that is the end"]))).toBe("there");
  });

  it("is found across wraps and borders, and by its signs if it has no letters", () => {
    const wrapped = new TailProbe("a tail that is wrapped", screenOf([]));
    expect(wrapped.look(screenOf(["│ a tail that is w │", "│ rapped           │"]))).toBe("there");
    const signs = new TailProbe("?!?", screenOf(["> "]));
    expect(signs.look(screenOf(["> ?!?"]))).toBe("there");
    expect(signs.look(screenOf(["> ?!?", "> "]))).toBe("absent");
  });

  it("has been taken if the program answers with the same words", () => {
    const probe = new TailProbe("echo me please", screenOf([]));
    expect(probe.look(screenOf(["echo me please"]))).toBe("there");
    expect(probe.look(screenOf(["echo me please", "echo me please"], { cursor: [0, 2] }))).toBe("absent");
  });

  it("has been taken if the cursor went to a new line, even if nothing was printed", () => {
    const probe = new TailProbe("no answer to this", screenOf([]));
    expect(probe.look(screenOf(["no answer to this"]))).toBe("there");
    expect(probe.look(screenOf(["no answer to this"], { cursor: [0, 1] }))).toBe("absent");
  });

  it("is still there if a program keeps its cursor elsewhere", () => {
    const parked = { cursor: [0, 20] } as const;
    const probe = new TailProbe("typed in a box", screenOf([], parked));
    expect(probe.look(screenOf(["│ typed in a box │", "└──"], parked))).toBe("there");
    expect(probe.look(screenOf(["│ typed in a box │", "└──"], parked))).toBe("there");
  });
});
