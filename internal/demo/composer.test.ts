import { describe, expect, it } from "vitest";
import {
  type Composer,
  composerText,
  edit,
  emptyComposer,
  foldLabel,
  folds,
  fullText,
  insertPaste,
  insertText,
} from "./composer.ts";
import type { KeyName } from "./key-decoder.ts";
import { wrapDraft, wrapText } from "./wrap.ts";

function typed(text: string, ...names: KeyName[]): Composer {
  return names.reduce(edit, insertText(emptyComposer, text));
}

/** The text with the cursor shown as `|`. */
function view(composer: Composer): string {
  return fullText(insertText(composer, "|"));
}

describe("editing", () => {
  it.each([
    ["abc", ["left", "left"], "a|bc"],
    ["abc", ["home", "right"], "a|bc"],
    ["abc", ["home", "end"], "abc|"],
    ["abc", ["backspace"], "ab|"],
    ["abc", ["left", "delete"], "ab|"],
    ["abc", ["home", "backspace"], "|abc"],
    ["日本👩‍💻", ["backspace"], "日本|"],
    ["e\u0301x", ["left", "backspace"], "|x"],
    ["one two", ["kill-word"], "one |"],
    ["one two  ", ["kill-word"], "one |"],
    ["one\ntwo", ["kill-line"], "one\n|"],
    ["one\ntwo", ["home", "kill-to-end"], "one\n|"],
    ["one\ntwo", ["up"], "one|\ntwo"],
    ["one\ntwelve", ["up"], "one|\ntwelve"],
    ["twelve\nxy", ["up"], "tw|elve\nxy"],
    ["ab\ncd", ["home", "up", "down"], "ab\n|cd"],
    ["ab", ["newline"], "ab\n|"],
    ["ab", ["up"], "ab|"],
  ] as const)("%j after %j is %j", (text, names, result) => {
    expect(view(typed(text, ...names))).toBe(result);
  });

  it("drops control characters and replaces a tab with four blanks", () => {
    expect(fullText(insertText(emptyComposer, "a\tb\x07\x9bc"))).toBe("a    bc");
  });
});

describe("folding", () => {
  it.each([
    ["1\n2\n3\n4", false],
    ["1\n2\n3\n4\n5", true],
    ["x".repeat(800), false],
    ["x".repeat(801), true],
  ])("%j", (text, folded) => {
    expect(folds(text)).toBe(folded);
  });

  it("shows a marker, keeps the text, and is removed by one backspace", () => {
    const text = "1\n2\n3\n4\n5";
    const composer = insertText(insertPaste(typed("see "), text, foldLabel(2, text)), "!");
    expect(composerText(composer)).toBe("see [Pasted text #2 +4 lines]!");
    expect(fullText(composer)).toBe(`see ${text}!`);
    expect(view(edit(edit(composer, "left"), "backspace"))).toBe("see |!");
  });
});

describe("wrapping", () => {
  it.each([
    ["abc", 10, ["abc"], 0, 3],
    ["abcdef", 4, ["abcd", "ef"], 1, 2],
    ["abcd", 4, ["abcd", ""], 1, 0],
    ["a\nb", 4, ["a", "b"], 1, 1],
    ["日本語", 5, ["日本", "語"], 1, 2],
    ["日本", 3, ["日", "本"], 1, 2],
    ["", 4, [""], 0, 0],
    ["ab\n", 4, ["ab", ""], 1, 0],
  ])("%j in %d columns", (text, columns, rows, cursorRow, cursorColumn) => {
    expect(wrapDraft(typed(text), columns)).toEqual({ rows, cursorRow, cursorColumn });
  });

  it("shows a cursor before a row's first character on that row", () => {
    expect(wrapDraft(typed("abcdef", "left", "left"), 4)).toMatchObject({ cursorRow: 1, cursorColumn: 0 });
  });

  it("breaks a marker like text", () => {
    const composer = insertPaste(emptyComposer, "x", "[Pasted text #1 +4 lines]");
    expect(wrapDraft(composer, 20).rows).toEqual(["[Pasted text #1 +4 l", "ines]"]);
  });

  it("wraps plain text between characters", () => {
    expect(wrapText("abcdef\n日本語", 4)).toEqual(["abcd", "ef", "日本", "語"]);
    expect(wrapText("", 4)).toEqual([""]);
  });
});
