import { describe, expect, it } from "vitest";
import type { PlaceConfig } from "../../../internal/terminal/places/place-config.ts";
import { dialogLines } from "../common/text/dialog-text.ts";
import { chosenKey } from "./choose-answer.ts";

const labels = ["Yes", "Yes, and do not ask again", "No", "3"];
const dialog = {
  id: "d",
  kind: "permission",
  title: "Bash command",
  text: "Bash command\n1. not a choice\n❯ 1. Yes\n2. Yes, and do not ask again\n3. No\n4. 3",
  choices: labels.map((label, i) => ({ key: String(i + 1), label, selected: i === 0 })),
  since: 0,
} as const;
const place: PlaceConfig = { localOnly: false, tls: {}, uid: 0, cwd: "/", env: {} };

describe("the choice that a person names", () => {
  it.each([
    ["a key", "2", "2"],
    ["a key that is also a label", "3", "3"],
    ["a whole label that is the beginning of others", "yes", "1"],
    ["a unique beginning", "Yes, a", "2"],
    ["another letter case and extra blanks", "  YES,   and ", "2"],
    ["one letter", "n", "3"],
  ])("is chosen by %s", (_, said, key) => {
    expect(chosenKey(dialog, said)).toBe(key);
  });

  it.each([
    ["a beginning that several labels share", "y", '"y" may be 1 (Yes), 2 (Yes, and do not ask again)'],
    ["a text that no label begins with", "o", 'no choice "o" in this dialog'],
    ["nothing", "  ", 'no choice "  " in this dialog'],
  ])("is not chosen by %s", (_, said, message) => {
    expect(() => chosenKey(dialog, said)).toThrow(expect.objectContaining({ kind: "invalid", message }));
  });
});

describe("a dialog as text", () => {
  it("shows the command for each choice, and every line of the question", () => {
    expect(dialogLines(dialog, "rig/toast", place)).toEqual([
      "permission: Bash command",
      "1. not a choice",
      "> 1. Yes                         gt respond rig/toast 1",
      "  2. Yes, and do not ask again   gt respond rig/toast 2",
      "  3. No                          gt respond rig/toast 3",
      "  4. 3                           gt respond rig/toast 4",
    ]);
  });

  it("says how many lines are left out", () => {
    const text = Array.from({ length: 20 }, (_, i) => `line ${i}`).join("\n");
    expect(dialogLines({ ...dialog, text, choices: [] }, "a", place).at(-1)).toBe("… 8 more lines: gt peek shows them");
  });
});
