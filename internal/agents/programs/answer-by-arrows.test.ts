import { describe, expect, it } from "vitest";
import { loadScreenCases } from "../../../test/support/screens/screen-corpus.ts";
import type { Answer, AnswerStep, DialogChoice, DialogView } from "../profile.ts";
import { profileNamed } from "./registry.ts";

const cases = await loadScreenCases();

function dialogOf(name: string): DialogView {
  const dialog = cases.find((one) => one.name === name)?.view.dialog;
  if (dialog === undefined) throw new Error(`no dialog in ${name}`);
  return dialog;
}

function answer(profile: string, dialog: DialogView, choice: string, text?: string): Answer | undefined {
  return profileNamed(profile).answer?.(dialog, choice, text);
}

/** `Down@1 Enter@2`: the key, the choice that must be selected right before it. */
function steps(given: Answer | undefined): string {
  if (given?.type !== "steps") return `${given?.type === "refused" ? given.kind : "none"}`;
  return given.steps
    .map(({ press, on, after }) => {
      const shown = after === undefined ? "" : after.type === "field" ? "(field)" : `(${after.text})`;
      return `${press.type === "key" ? press.name : `"${press.text}"`}@${on.key}${shown}`;
    })
    .join(" ");
}

describe("an answer to a recorded dialog", () => {
  it.each([
    ["claude/2.1.330/permission-shell", "1", undefined, "Enter@1"],
    ["claude/2.1.330/permission-shell", "4", undefined, "Down@1 Down@2 Down@3 Enter@4"],
    ["claude/2.1.197/permission-shell", "3", undefined, "Down@1 Down@2 Enter@3"],
    ["claude/2.1.197/trust", "1", undefined, "Enter@1"],
    ["claude/2.1.330/trust", "1", undefined, "Enter@1"],
    ["claude/2.1.330/trust", "2", undefined, "Down@1 Enter@2"],
    ["claude/2.1.197/theme", "1", undefined, "Up@2 Enter@1"],
    ["claude/2.1.197/plan", "2", undefined, "Down@1 Enter@2"],
    ["claude/2.1.330/model-picker", "5", undefined, "Down@1 Down@2 Down@3 Down@4 Enter@5"],
    ["claude/2.1.330/question", "2", undefined, "Down@1 Enter@2"],
    ["claude/2.1.330/question", "", "mauve", 'Down@1 Down@2 "mauve"@3 Enter@3(mauve)'],
    ["claude/2.1.330/question", "3", "mauve", 'Down@1 Down@2 "mauve"@3 Enter@3(mauve)'],
    ["claude/2.1.330/question", "3", undefined, "invalid"],
    ["claude/2.1.330/question", "2", "mauve", "invalid"],
    ["claude/2.1.330/question", "5", undefined, "invalid"],
    ["claude/2.1.330/question", "", undefined, "invalid"],
    ["claude/2.1.330/permission-shell", "", "mauve", "invalid"],
    ["claude/2.1.330/help", "1", undefined, "unimplemented"],
    ["codex/0.169.0/permission-shell", "3", undefined, "Down@1 Down@2 Enter@3"],
    ["codex/0.169.0/permissions-picker", "1", undefined, "Up@4 Up@3 Up@2 Enter@1"],
    ["codex/0.169.0/login", "2", undefined, "Down@1 Enter@2"],
    ["opencode/1.18.33/permission-shell", "1", undefined, "Enter@1"],
    ["opencode/1.18.33/permission-shell", "3", undefined, "Right@1 Right@2 Enter@3"],
    ["opencode/1.18.33/question", "2", undefined, "Down@1 Enter@2"],
    ["opencode/1.18.33/question", "", "mauve", 'Down@1 Down@2 Enter@3 "mauve"@3(field) Enter@3(mauve)'],
  ])("%s, choice %j, text %j: %s", (name, choice, text, wanted) => {
    expect(steps(answer(name.split("/")[0] ?? "", dialogOf(name), choice, text))).toBe(wanted);
  });

  it("moves from the current selection, in both directions", () => {
    const dialog = dialogOf("codex/0.169.0/permission-shell");
    const choices = dialog.choices.map((one) => ({ ...one, selected: one.key === "3" }));
    expect(steps(answer("codex", { ...dialog, choices }, "1"))).toBe("Up@3 Up@2 Enter@1");
  });

  it.each([
    ["no choice is selected", (one: DialogChoice) => ({ ...one, selected: false })],
    ["two choices are selected", (one: DialogChoice) => ({ ...one, selected: one.key !== "2" })],
    ["two choices have the same number", (one: DialogChoice) => ({ ...one, key: one.key === "3" ? "2" : one.key })],
  ])("presses nothing if %s", (_, change) => {
    const dialog = dialogOf("codex/0.169.0/permission-shell");
    expect(answer("codex", { ...dialog, choices: dialog.choices.map(change) }, "1")?.type).toBe("unsure");
  });

  it("presses nothing when the choices cannot be read with certainty", () => {
    const dialog = dialogOf("codex/0.169.0/permission-shell");
    expect(answer("codex", { ...dialog, unclear: "they do not count from 1" }, "1")).toEqual({
      type: "unsure",
      reason: "its choices cannot be read with certainty: they do not count from 1",
    });
  });

  it("names the choice that must be selected for each key, by its label too", () => {
    const given = answer("codex", dialogOf("codex/0.169.0/permission-shell"), "2");
    expect(given?.type === "steps" && given.steps.map((step) => step.on.label.slice(0, 12))).toEqual([
      "Yes, proceed",
      "Yes, and don",
    ]);
  });

  it("lists the valid keys if no choice has that key", () => {
    const given = answer("claude", dialogOf("claude/2.1.330/permission-shell"), "yes");
    expect(given).toMatchObject({ reason: 'no choice "yes" in this dialog: there are 1, 2, 3, 4' });
  });

  it("commits with its last step only", () => {
    for (const { profile, view } of cases) {
      for (const { key } of view.dialog?.choices ?? []) {
        const given = view.dialog && answer(profile, view.dialog, key);
        if (given?.type !== "steps") continue;
        const isEnter = ({ press }: AnswerStep) => press.type === "key" && press.name === "Enter";
        expect(given.steps.map(isEnter)).toEqual(given.steps.map((_, i) => i === given.steps.length - 1));
        expect(given.steps.at(-1)).toMatchObject({ press: { name: "Enter" }, on: { key } });
      }
    }
  });
});
