import { describe, expect, it } from "vitest";
import { screenOf } from "../../../test/support/screens/screens.ts";
import type { DialogView, ScreenView } from "../../agents/profile.ts";
import { demo } from "../../agents/programs/demo.ts";
import { dialogFrom, viewKey } from "./dialog.ts";

const view: DialogView = {
  kind: "permission",
  title: "Run rm?",
  text: "Run rm?\nrm x",
  choices: [
    { key: "1", label: "Yes", selected: true },
    { key: "2", label: "No", selected: false },
  ],
};
const idOf = (part: Partial<DialogView>) => dialogFrom({ ...view, ...part }, 0).id;

describe("a dialog's id", () => {
  it("is the same for the same dialog, whenever it is seen", () => {
    expect(dialogFrom(view, 1).id).toBe(dialogFrom({ ...view }, 2).id);
    expect(dialogFrom(view, 1).id).toMatch(/^[0-9a-f]{16}$/);
  });

  it.each([
    ["its kind", { kind: "question" as const }],
    ["its title", { title: "Run mv?" }],
    ["its text", { text: "Run rm?\nrm y" }],
    ["a label", { choices: [{ key: "1", label: "Maybe", selected: true }] }],
    ["a key", { choices: [{ key: "y", label: "Yes", selected: true }] }],
  ])("changes with %s", (_, part) => {
    expect(idOf(part)).not.toBe(idOf({}));
  });

  it("does not change when the selection moves", () => {
    const moved = view.choices.map((choice) => ({ ...choice, selected: !choice.selected }));
    expect(idOf({ choices: moved })).toBe(idOf({}));
  });

  it("does not change when the selection moves on a real screen, where the mark is part of the text", () => {
    const rule = "─".repeat(40);
    const screen = (first: string, second: string) =>
      screenOf(
        [rule, "? Run rm?", `${first} 1. Yes`, `${second} 2. No`, "Enter to choose · Esc to cancel", rule, "s"],
        {
          cols: 40,
        },
      );
    const [one, other] = [screen("❯", " "), screen(" ", "❯")].map((seen) => demo.view(seen).dialog);
    if (one === undefined || other === undefined) throw new Error("the screens show no dialog");
    expect(one.choices.map((choice) => choice.selected)).toEqual([true, false]);
    expect(dialogFrom(other, 0).id).toBe(dialogFrom(one, 0).id);
  });
});

it("is reported as plain text", () => {
  const hostile = {
    ...view,
    title: "\x1b]0;x\x07Run",
    text: "a\x07b\nc",
    choices: [{ ...view.choices[0], label: "\x1b[31mYes" }],
  };
  const told = dialogFrom(hostile as DialogView, 77);
  expect(told).toMatchObject({ title: "Run", text: "ab\nc", since: 77 });
  expect(told.choices).toEqual([{ key: "1", label: "Yes", selected: true }]);
});

describe("the key of a view", () => {
  const composer = { top: 0, bottom: 0, text: "", pasteMarkers: 0 };
  const same: readonly (readonly [string, ScreenView, ScreenView])[] = [
    ["another draft", { composer: { ...composer, text: "a" } }, { composer: { ...composer, text: "ab" } }],
    ["another wording of busy", { busy: "1s" }, { busy: "2s" }],
    ["a composer that moved", { composer }, { composer: { ...composer, top: 3, bottom: 3 } }],
  ];
  const different: readonly (readonly [string, ScreenView, ScreenView])[] = [
    ["a composer", {}, { composer }],
    ["a draft", { composer }, { composer: { ...composer, text: "a" } }],
    ["a folded paste", { composer }, { composer: { ...composer, pasteMarkers: 1 } }],
    ["busy", { composer }, { composer, busy: "x" }],
    ["a limit", { composer }, { composer, parked: "x" }],
    ["a background task", { composer }, { composer, background: [{ kind: "shell", count: 1 }] }],
    ["a dialog", { composer }, { composer, dialog: view }],
    ["another dialog", { dialog: view }, { dialog: { ...view, title: "other" } }],
  ];
  it.each(same)("does not change with %s", (_, a, b) => expect(viewKey(a)).toBe(viewKey(b)));
  it.each(different)("changes with %s", (_, a, b) => expect(viewKey(a)).not.toBe(viewKey(b)));
});
