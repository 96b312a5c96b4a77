import { describe, expect, it } from "vitest";
import { screenFromRecording } from "../../../test/support/screens/screen-from-ansi.ts";
import type { Answer, DialogView } from "../profile.ts";
import { claude } from "./claude.ts";

const FOOTER = " Esc to cancel · ↑/↓ to navigate · Backspace to unset · Space to toggle";
const ASKS = [" MCP server “release” requests your input", "", " Publish the packages?", ""];

/** A form as an MCP server asks for it, drawn as 2.1.330 does, with the cursor on the mark. */
async function formOf(rows: readonly string[], footer: readonly string[] = [FOOTER]): Promise<DialogView> {
  const lines = ["● Calling release", "", "─".repeat(100), ...ASKS, ...rows, "", ...footer];
  const cursorY = lines.findIndex((line) => line.includes("❯"));
  const cursorX = Math.max(0, lines[cursorY]?.indexOf("❯") ?? 0);
  const size = { cols: 100, rows: 30, alternate: false, title: "" };
  const at = { cursorX, cursorY: Math.max(0, cursorY) };
  const seen = claude.view(await screenFromRecording({ ...size, ...at, ansi: lines.join("\r\n") })).dialog;
  if (seen === undefined) throw new Error("no dialog is seen");
  return seen;
}

const choicesOf = ({ choices }: DialogView) =>
  choices.map(({ key, label, selected }) => `${key} ${label}${selected ? " *" : ""}`);
const answer = (dialog: DialogView, choice: string): Answer | undefined => claude.answer?.(dialog, choice, undefined);

function keys(given: Answer | undefined): string | undefined {
  if (given?.type !== "steps") return given?.type;
  return given.steps.map(({ press, on }) => `${press.type === "key" ? press.name : "text"}@${on.label}`).join(" ");
}

const FIELD = ["   * Publish: ☐", "     yes or no", ""];
const ACCEPT = " ❯ Accept    Decline";
const DECLINE = "   Accept  ❯ Decline";

describe("a form of an MCP server in Claude Code", () => {
  it.each([
    ["an empty one, first button", [ACCEPT], ["1 Accept *", "2 Decline"]],
    ["an empty one, second button", [DECLINE], ["1 Accept", "2 Decline *"]],
    ["below a field", [...FIELD, ACCEPT], ["1 Accept *", "2 Decline"]],
    ["right below a field", ["   * Publish: ☐", DECLINE], ["1 Accept", "2 Decline *"]],
    ["three of them", [" ❯ Accept    Decline    Ask later"], ["1 Accept *", "2 Decline", "3 Ask later"]],
  ])("offers each of its buttons: %s", async (_, rows, wanted) => {
    const dialog = await formOf(rows);
    expect(choicesOf(dialog)).toEqual(wanted);
    expect(dialog.unclear).toBeUndefined();
  });

  it.each([
    [ACCEPT, "1", "Enter@Accept"],
    [ACCEPT, "2", "Right@Accept Enter@Decline"],
    [DECLINE, "1", "Left@Decline Enter@Accept"],
    [DECLINE, "2", "Enter@Decline"],
  ])("is answered by moving across its buttons: %s, choice %s", async (row, choice, wanted) => {
    expect(keys(answer(await formOf([row]), choice))).toBe(wanted);
    expect(keys(answer(await formOf([...FIELD, row]), choice))).toBe(wanted);
  });

  it.each([
    ["its only field", [" ❯ * Publish: ☐", "     yes or no", "", "   Accept    Decline"], [FOOTER]],
    ["one of several", ["   Name: x", " ❯ * Publish: ☐", "   Accept    Decline"], [FOOTER]],
    ["under another footer", [" ❯ * Publish: ☐", "", "   Accept    Decline"], [" Esc to cancel"]],
    ["above buttons that are cut off", ["   Name: x", " ❯ * Publish: ☐"], [FOOTER]],
    ["on a narrow screen", [" ❯ * Publish: ☐"], [" Esc to cancel · ↑/↓ to navigate ·", " Backspace to unset"]],
  ])("has no choice while a field is selected: %s", async (_, rows, footer) => {
    const dialog = await formOf(rows, footer);
    expect(dialog.choices).toEqual([]);
    expect(dialog.unclear).toBe("a field of its form is selected, and none of its buttons");
    expect(answer(dialog, "1")?.type).toBe("unsure");
  });

  it.each([
    ["unknown words", [" ❯ Accept (2)    Decline"]],
    ["two marks", [" ❯ Accept  ❯ Decline"]],
    ["a mark away from its button", [" ❯    Accept    Decline"]],
  ])("presses nothing if the row cannot be read: %s", async (_, rows) => {
    const dialog = await formOf(rows, [" Esc to cancel"]);
    expect(dialog.choices).toEqual([]);
    expect(answer(dialog, "1")?.type).toBe("unsure");
  });

  it("is not read from a question's text", async () => {
    const dialog = await formOf(["   Accept    Decline", "", " ❯ 1. Yes", "   2. No"]);
    expect(choicesOf(dialog)).toEqual(["1 Yes *", "2 No"]);
    expect(keys(answer(dialog, "2"))).toBe("Down@Yes Enter@No");
  });
});
