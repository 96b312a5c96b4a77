import { expect, it } from "vitest";
import type { DialogView } from "../../agents/profile.ts";
import { dialogFrom } from "./dialog.ts";

function form(row: string, labels: readonly string[], selected: string): DialogView {
  const choices = labels.map((label, i) => ({ key: String(i + 1), label, selected: label === selected }));
  return { kind: "other", title: "Publish?", text: `Publish?\n\n${row}`, choices, beside: true };
}

it("keeps a dialog's id while the mark moves from one of its buttons to another", () => {
  const labels = ["Accept", "Decline"];
  const first = dialogFrom(form("❯ Accept    Decline", labels, "Accept"), 0);
  expect(dialogFrom(form("  Accept  ❯ Decline", labels, "Decline"), 0).id).toBe(first.id);
  expect(dialogFrom(form("❯ Accept    Refuse", ["Accept", "Refuse"], "Accept"), 0).id).not.toBe(first.id);
});
