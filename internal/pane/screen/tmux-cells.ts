import { type Habitual, type InsideLine, insideOf } from "./tmux-inside.ts";

/** More than any flag or family of people has, UTF-16 units. tmux takes 21 bytes and drops what goes beyond that. */
const CELL_MAX = 64;

const bounded = new WeakSet<object>();

/** A cell takes only so many characters that combine with what is there: a program can print them forever. */
export function boundCells(terminal: Habitual): void {
  const lines: InsideLine | null = Object.getPrototypeOf(insideOf(terminal).buffer.lines.get(0));
  if (lines === null || bounded.has(lines)) return; // all emulators have the same
  bounded.add(lines);
  const add = lines.addCodepointToCell;
  lines.addCodepointToCell = function (this: InsideLine, x: number, codePoint: number, width: number) {
    if (this.getString(x).length < CELL_MAX) add.call(this, x, codePoint, width);
  };
}
