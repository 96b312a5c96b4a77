import { describe, expect, it } from "vitest";
import { screenOf } from "../../../test/support/screens/screens.ts";
import type { DialogView } from "../profile.ts";
import { claudeShownAnswer, codexShownAnswer } from "./shown-answers.ts";

const permission: DialogView = {
  kind: "permission",
  title: "",
  text: "Would you like to\n\n$ ./ran-it 1",
  choices: [],
};
const asked: DialogView = {
  kind: "question",
  title: "",
  text: "Which one?",
  choices: ["Green", "Blue"].map((label, i) => ({ key: String(i + 1), label, selected: i === 0 })),
};

describe("the answer that Codex shows", () => {
  const YES = "✔ You approved codex to run ./ran-it 1 this time";
  const ALWAYS = "✔ You approved codex to always run commands that start with ./ran-it";
  const NO = "✗ You canceled the request to run ./ran-it 1";
  it.each([
    [YES, "Yes, proceed (y)", "named"],
    [NO, "Yes, proceed (y)", "other"],
    [ALWAYS, "Yes, proceed (y)", "other"],
    [NO, "No, and tell Codex what to do differently (esc)", "named"],
    [YES, "No, and tell Codex what to do differently (esc)", "other"],
    [NO, "Yes, and don't ask again for commands that start with `./ran-it`", "other"],
    ["• Ran ./ran-it 1", "Yes, proceed (y)", undefined],
    ["✗ You canceled the request to run ./another", "Yes, proceed (y)", undefined],
  ] as const)("%s, after %s: %s", (row, given, shown) => {
    expect(codexShownAnswer(screenOf(["› go", "", row, "", "• Done."]), permission, given)).toBe(shown);
  });

  it("is not read from an earlier turn", () => {
    const screen = screenOf([NO, "", "› go", "", "• Working"]);
    expect(codexShownAnswer(screen, permission, "Yes, proceed (y)")).toBeUndefined();
  });
});

describe("the answer that Claude Code shows", () => {
  const shownAs = (...rows: readonly string[]) =>
    screenOf(["❯ ASK", "", "● Answered Claude's questions:", ...rows, "", "● Done."]);
  it.each([
    ["  ⎿  · Which one? → Green", "Green", "named"],
    ["  ⎿  · Which one? → Blue", "Green", "other"],
    ["  ⎿  · a → b? → mauve with dots", "mauve with dots", "named"],
    ["  ⎿  · Which one? → ───", "───", undefined],
    ["  ⎿  · Which one?", "Green", undefined],
    ["  ⎿  · Which one? → Grey", "Submit answers", undefined],
  ] as const)("%s, after %s: %s", (row, given, shown) => {
    expect(claudeShownAnswer(shownAs(row), asked, given)).toBe(shown);
  });

  it("may continue in the next row", () => {
    expect(claudeShownAnswer(shownAs("  ⎿  · Which one? → mauve", "     with dots"), asked, "mauve with dots")).toBe(
      "named",
    );
  });

  it("is not read from an earlier turn, nor for a permission", () => {
    const early = screenOf(["● Answered Claude's questions:", "  ⎿  · Which one? → Blue", "", "❯ ASK", "", "● Done."]);
    expect(claudeShownAnswer(early, asked, "Green")).toBeUndefined();
    expect(claudeShownAnswer(shownAs("  ⎿  · Which one? → Blue"), permission, "Green")).toBeUndefined();
  });
});
