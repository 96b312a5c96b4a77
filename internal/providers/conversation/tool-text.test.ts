import { expect, it } from "vitest";
import { toolCallText, toolInputText, toolResultText } from "./tool-text.ts";

it.each([
  [{ command: "ls", description: "lists" }, "ls"],
  [{ file_path: "/a", content: "x" }, "/a"],
  [{ other: 1 }, '{"other":1}'],
  [{}, ""],
  [{ questions: [{ question: "Which?", options: [{ label: "A" }, null] }, null] }, "Which? [A] [undefined]\n"],
])("describes the action of %j", (input, text) => {
  expect(toolInputText(input)).toBe(text);
});

it("shows a call on one line, cut when it is long", () => {
  expect(toolCallText("Bash(a\n  b)")).toBe("● Bash(a ⏎ b)\n");
  expect(toolCallText("x".repeat(600))).toBe(`● ${"x".repeat(500)}…\n`);
});

it("shows the beginning of a result, indented", () => {
  expect(toolResultText("a\nb\n")).toBe("  ⎿ a\n    b\n");
  expect(toolResultText(" \n")).toBe("");
  expect(toolResultText("x\n".repeat(20)).split("\n")).toHaveLength(14);
  expect(toolResultText("x".repeat(9000))).toBe(`  ⎿ ${"x".repeat(2000)}\n    …\n`);
});
