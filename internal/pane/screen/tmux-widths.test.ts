import { describe, expect, it } from "vitest";
import { Emulator } from "./emulator.ts";

/** The cursor's column after the text, as tmux 3.3a reports it. */
const COLUMNS: readonly (readonly [name: string, text: string, column: number])[] = [
  ["a family joined by zero width joiners", "👩‍👩‍👧", 2],
  ["a flag", "🇩🇪", 2],
  ["a skin tone", "👍🏽", 4],
  ["an emoji by variation selector", "❤️", 1],
  ["a joined sequence on a narrow base", "🏳️‍🌈", 1],
  ["Chinese characters", "日本", 4],
  ["a combining accent", "e\u0301", 1],
  ["composed Korean letters", "\u1112\u1161\u11ab", 2],
  ["text after a joined emoji", "👩‍👩‍👧ab", 4],
];

describe("character widths", () => {
  it.each(COLUMNS)("counts %s as tmux does", async (_, text, column) => {
    const emulator = new Emulator({ cols: 80, rows: 5, scrollback: 0 });
    await emulator.write(text);
    expect(emulator.cursor.x).toBe(column);
    expect(emulator.screen().lines[0]?.text).toBe(text);
  });
});
