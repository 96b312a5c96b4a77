import { describe, expect, it } from "vitest";
import { screenFromRecording } from "../../../test/support/screens/screen-from-ansi.ts";
import { claudeView } from "./claude-screen.ts";

/** A composer with this row, drawn as 2.1.197 does. */
async function composerWith(row: string): Promise<string | undefined> {
  const rule = `\x1b[38;5;244m${"─".repeat(80)}\x1b[0m`;
  const common = { cols: 80, rows: 10, cursorX: 40, cursorY: 1, alternate: false, title: "" };
  const screen = await screenFromRecording({ ...common, ansi: [rule, row, rule].join("\r\n") });
  return claudeView(screen).composer?.text;
}

describe("grey letters in Claude Code's composer", () => {
  it("belong to a tip that was there before if other letters have the terminal's own colour", async () => {
    expect(await composerWith("❯ ക्‍ष អយ៊\x1b[38;5;246mup\x1b[0mត៎ោ 𢰫𤝥")).toBe("ക्‍ष អយ៊  ត៎ោ 𢰫𤝥");
  });

  it.each([
    ["are text if there are no others", "❯ \x1b[38;5;246mby hand\x1b[0m", "by hand"],
    ["are not assumed because the mark is grey", "\x1b[38;5;246m❯ \x1b[0mby hand", "by hand"],
  ])("%s", async (_, row, text) => {
    expect(await composerWith(row)).toBe(text);
  });

  it("are left out, but letters of other colours are kept", async () => {
    expect(await composerWith("❯ please \x1b[38;5;147multrathink\x1b[0m")).toBe("please ultrathink");
  });
});
