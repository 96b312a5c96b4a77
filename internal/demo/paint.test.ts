import { expect, it } from "vitest";
import { line } from "./model.ts";
import { Painter } from "./paint.ts";
import type { LiveRegion } from "./render.ts";

function painter(): Painter {
  return new Painter({ alternateScreen: false, bracketedPaste: true });
}

const frame = (rows: readonly string[], row: number, column: number): LiveRegion => ({
  lines: rows.map((text) => line(text)),
  cursor: { row, column },
  title: "t",
});

it("writes nothing if nothing has changed", () => {
  const paint = painter();
  paint.paint(frame(["a", "b"], 0, 1), [], 20);
  expect(paint.paint(frame(["a", "b"], 0, 1), [], 20)).toBe("");
});

it("draws the same frame once more after the terminal's size has changed", () => {
  const paint = painter();
  paint.paint(frame(["a", "b"], 0, 1), [], 20);
  paint.resized();
  expect(paint.paint(frame(["a", "b"], 0, 1), [], 20)).toContain("\x1b[2Ka\r\n\x1b[2Kb");
  expect(paint.paint(frame(["a", "b"], 0, 1), [], 20)).toBe("");
});

it("draws over the old region from its top and puts the cursor in its place", () => {
  const paint = painter();
  paint.paint(frame(["a", "b", "c"], 1, 2), [], 20);
  expect(paint.paint(frame(["a", "x", "c"], 1, 3), [], 20)).toBe(
    "\x1b[?25l\r\x1b[1A\x1b[2Ka\r\n\x1b[2Kx\r\n\x1b[2Kc\x1b[J\r\x1b[1A\x1b[3C\x1b[?25h",
  );
});

it("prints finished lines above the region, and clears the rest of the screen first", () => {
  const paint = painter();
  paint.paint(frame(["a"], 0, 0), [], 20);
  expect(paint.paint(frame(["a"], 0, 0), [line("done")], 20)).toBe(
    "\x1b[?25l\r\x1b7\x1b[2K\x1b[1B\x1b[J\x1b8done\r\n\x1b[2Ka\x1b[J\r\x1b[?25h",
  );
});

it("finds the top again after the terminal wrapped the old lines", () => {
  const paint = painter();
  paint.paint(frame(["─".repeat(20), "abc"], 1, 3), [], 20);
  expect(paint.paint(frame(["─".repeat(10), "abc"], 1, 3), [], 10)).toContain("\r\x1b[2A\x1b7\x1b[2K");
});

it("sets the title only when it changes", () => {
  const paint = painter();
  expect(paint.paint(frame(["a"], 0, 0), [], 20)).toContain("\x1b]2;t\x1b\\");
  expect(paint.paint(frame(["b"], 0, 0), [], 20)).not.toContain("\x1b]2;");
});

it("switches on bracketed paste by default, and always restores the terminal", () => {
  expect(painter().begin()).toBe("\x1b[?2004h");
  const other = new Painter({ alternateScreen: true, bracketedPaste: false });
  expect(other.begin()).toBe("\x1b[?1049h\x1b[H\x1b[2J");
  expect(other.end(20)).toBe("\x1b[?2004l\x1b[?25h\x1b[0m\x1b[?1049l");
});

it("fills the alternate screen with the transcript's end and the region at the bottom", () => {
  const paint = new Painter({ alternateScreen: true, bracketedPaste: true });
  const transcript = ["one", "two", "abcdefghijkl"].map((text) => line(text));
  const out = paint.paintAll(frame(["> x"], 0, 3), transcript, 10, 4);
  const rows = out
    .split(/\x1b\[\d+;1H\x1b\[2K/)
    .slice(1)
    .map((row) => row.replace(/\x1b.*$/s, ""));
  expect(rows).toEqual(["two", "abcdefghij", "kl", "> x"]);
  expect(out).toContain("\x1b[4;4H\x1b[?25h");
});
