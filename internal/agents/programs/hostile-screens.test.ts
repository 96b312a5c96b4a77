import { describe, expect, it } from "vitest";
import { fc } from "../../../test/support/property.ts";
import type { Screen, ScreenLine } from "../screen.ts";
import { profileNamed } from "./registry.ts";

/** Pieces that profiles look for, in any order and place. */
const PIECES = [
  "─".repeat(40),
  "─".repeat(80),
  "❯ ",
  "❯ 1. Yes",
  "  2. No",
  "› ",
  "› 1. Yes",
  "> ",
  "? Allow?",
  "┃",
  "  ┃  text",
  `  ╹${"▀".repeat(60)}`,
  "✻ Working… (3s · esc to interrupt)",
  "• Working (3s • esc to interrupt)",
  "  ⎿  Queued",
  "  ↳ held",
  "Esc to cancel · Enter to confirm",
  "enter confirm",
  "esc interrupt",
  "[Pasted text #1 +4 lines]",
  "漢字",
  "\ud83d",
  "",
];

const line = fc
  .record({
    text: fc.oneof(
      fc.constantFrom(...PIECES),
      fc.array(fc.constantFrom(...PIECES), { maxLength: 4 }).map((parts) => parts.join(" ")),
      fc.string({ maxLength: 90 }),
    ),
    dim: fc.boolean(),
    bold: fc.boolean(),
    inverse: fc.boolean(),
    split: fc.nat(20),
  })
  .map(({ text, split, ...style }): ScreenLine => {
    const plain = { bold: false, dim: false, inverse: false, fg: "default" };
    const runs = [
      { ...style, fg: "8", text: text.slice(0, split) },
      { ...plain, text: text.slice(split) },
    ];
    return { text: text.trimEnd(), runs: runs.filter((run) => run.text !== ""), wrapped: false };
  });

const screens = fc
  .record({
    lines: fc.array(line, { minLength: 1, maxLength: 30 }),
    cols: fc.constantFrom(1, 20, 80),
    cursorX: fc.nat(100),
    cursorY: fc.nat(40),
    title: fc.constantFrom("", "⠋ x", "✳ x", "[ ! ] x"),
  })
  .map(
    ({ lines, ...rest }): Screen => ({ ...rest, lines, rows: lines.length, alternate: false, bracketedPaste: true }),
  );

describe.each(["claude", "codex", "opencode", "demo", "generic"])("%s", (name) => {
  const profile = profileNamed(name);

  it("reads any screen without failing, and places the composer within it", () => {
    fc.assert(
      fc.property(screens, (screen) => {
        const view = profile.view(screen);
        expect(view.composer !== undefined && view.dialog !== undefined).toBe(false);
        if (view.composer === undefined) return;
        expect(view.composer.top).toBeGreaterThanOrEqual(0);
        expect(view.composer.bottom).toBeGreaterThanOrEqual(view.composer.top);
        expect(view.composer.bottom).toBeLessThan(screen.rows);
      }),
      { numRuns: 3000 },
    );
  });

  it.each(PIECES)("takes time in proportion to a huge screen full of %j", (piece) => {
    const text = piece.repeat(Math.ceil(500 / Math.max(1, piece.length))).slice(0, 500);
    const filled: ScreenLine = {
      text,
      runs: [{ text, bold: true, dim: false, inverse: false, fg: "default" }],
      wrapped: false,
    };
    const screen: Screen = {
      cols: 500,
      rows: 500,
      lines: Array.from({ length: 500 }, () => filled),
      cursorX: 0,
      cursorY: 499,
      alternate: false,
      bracketedPaste: true,
      title: "",
    };
    const began = performance.now();
    profile.view(screen);
    expect(performance.now() - began).toBeLessThan(300);
  });
});
