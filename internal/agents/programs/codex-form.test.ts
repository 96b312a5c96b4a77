import { describe, expect, it } from "vitest";
import { screenFromRecording } from "../../../test/support/screens/screen-from-ansi.ts";
import type { DialogView } from "../profile.ts";
import { codex } from "./codex.ts";

const ASKS = 'Allow the forms MCP server to run tool "ask_plainly"?';
const CHOICES = ["Allow                   Run the tool and continue", "Always allow            Run the tool", "Cancel"];

/** Codex asks before it runs a tool of an MCP server, drawn as 0.169.0 does; the title blinks meanwhile. */
async function formOf(selected: number, head = "Field 1/1", title = "[ . ] Action Required"): Promise<DialogView> {
  const choices = CHOICES.map((label, i) => `  ${i === selected ? "›" : " "} ${i + 1}. ${label}`);
  const rows = [`  ${head}`, `  ${ASKS}`, ...choices, "  enter to submit | esc to cancel"];
  const lines = ["• Calling forms.ask_plainly({})", "", "", ...rows];
  const size = { cols: 100, rows: 30, alternate: false, title };
  const at = { cursorX: 0, cursorY: lines.length - 1 };
  const seen = codex.view(await screenFromRecording({ ...size, ...at, ansi: lines.join("\r\n") })).dialog;
  if (seen === undefined) throw new Error("no dialog is seen");
  return seen;
}

describe("a form in Codex", () => {
  it.each([0, 1, 2])("offers each of its choices, whatever the title shows: %i is selected", async (i) => {
    for (const title of ["[ ! ] Action Required", "[ . ] Action Required"]) {
      const dialog = await formOf(i, "Field 1/1", title);
      expect(dialog).toMatchObject({ kind: "permission", title: ASKS });
      expect(dialog.choices.map(({ label }) => label)).toEqual(CHOICES);
      expect(dialog.choices.map(({ selected }) => selected)).toEqual([0, 1, 2].map((one) => one === i));
    }
  });

  it("is the same dialog while the count of unanswered fields changes", async () => {
    const dialog = await formOf(1, "Field 1/1");
    expect(await formOf(1, "Field 1/1 (1 required unanswered)")).toEqual(dialog);
  });
});
