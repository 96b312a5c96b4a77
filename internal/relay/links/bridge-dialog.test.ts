import { expect, it } from "vitest";
import { outcomeOf } from "../acp/permission-choice.ts";
import { requestOfDialog } from "./bridge-dialog.ts";

const dialog = (...labels: readonly string[]) => ({
  ...{ id: "d1", kind: "permission", title: "Bash command", text: "rm -rf build" },
  choices: labels.map((label, index) => ({ key: String(index + 1), label })),
});
const granted = (options: unknown) => outcomeOf(options as never, { type: "granted", optionId: undefined });
const denied = (options: unknown) => outcomeOf(options as never, { type: "denied" });
const selected = (optionId: string) => ({ outcome: "selected", optionId });

it("asks with the dialog's own words", () => {
  expect(requestOfDialog("w1", dialog("Yes", "No"))).toEqual({
    workId: "w1",
    toolCall: {
      ...{ toolCallId: "d1", title: "Bash command", kind: "other", status: "pending" },
      content: [{ type: "content", content: { type: "text", text: "rm -rf build" } }],
      _meta: { "relay.dialog": "permission" },
    },
    options: [
      { optionId: "1", name: "Yes", kind: "allow_once" },
      { optionId: "2", name: "No", kind: "reject_once" },
    ],
  });
});

it.each([
  ["1", "3", ["Yes", "Yes, and don't ask again for rm", "No, and tell Claude what to do differently"]],
  ["1", "3", ["Yes, proceed", "Yes, and don\u2019t ask again for this command", "No, and tell Codex what to do"]],
  ["1", "3", ["Allow once", "Allow always", "Reject"]],
  ["2", "3", ["Yes, allow all edits during this session", "Yes", "No"]],
  ["1", "2", ["Yes, I trust this folder", "No, exit"]],
] as const)("grants once by choice %s and refuses by %s", (yes, no, labels) => {
  const { options } = requestOfDialog("w1", dialog(...labels));
  expect([granted(options), denied(options)]).toEqual([selected(yes), selected(no)]);
});

it("grants neither a permanent permission nor an answer to a question", () => {
  for (const labels of [["Always allow"], ["Tea", "Coffee"]]) {
    expect(granted(requestOfDialog("w1", dialog(...labels)).options)).toEqual({ outcome: "cancelled" });
  }
});

it("is bounded, however large the screen is", () => {
  const large = { ...dialog(...Array.from({ length: 100 }, () => "x".repeat(5000))), text: "y".repeat(1_000_000) };
  expect(JSON.stringify(requestOfDialog("w1", large)).length).toBeLessThan(64 * 1024);
});
