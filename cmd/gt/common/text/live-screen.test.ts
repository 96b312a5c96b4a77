import { expect, it } from "vitest";
import { printable } from "../../../../internal/base/printable-text.ts";
import { LiveScreen } from "./live-screen.ts";

function terminal(columns = 40, rows = 10) {
  const written: string[] = [];
  return { columns, rows, written, write: (text: string) => written.push(text), last: () => written.at(-1) ?? "" };
}

it("hides the cursor at the first picture and shows it again at the end", () => {
  const tty = terminal();
  const screen = new LiveScreen(tty);
  screen.draw([printable`a`]);
  screen.draw([printable`b`]);
  screen[Symbol.dispose]();
  screen[Symbol.dispose]();
  expect(tty.written.join("").split("\x1b[?25l")).toHaveLength(2);
  expect(tty.written.join("").split("\x1b[?25h")).toHaveLength(2);
  expect(tty.last()).toBe("\x1b[0m\x1b[?25h");
});

it("writes nothing if nothing was drawn", () => {
  const tty = terminal();
  new LiveScreen(tty)[Symbol.dispose]();
  expect(tty.written).toEqual([]);
});

it("draws on a terminal that says 0 by 0 as on one of 80 by 24", () => {
  const { columns, maxLines } = new LiveScreen(terminal(0, 0));
  expect({ columns, maxLines }).toEqual({ columns: 80, maxLines: 23 });
});

it("rewrites only the lines that changed", () => {
  const tty = terminal();
  const screen = new LiveScreen(tty);
  screen.draw([printable`one`, printable`two`, printable`three`]);
  screen.draw([printable`one`, printable`TWO`, printable`three`]);
  expect(tty.last()).toContain("TWO");
  expect(tty.last()).not.toContain("one");
  expect(tty.last()).not.toContain("three");
  expect(tty.last()).toContain("\r\x1b[3A");
});

it("clears lines that are gone", () => {
  const tty = terminal();
  const screen = new LiveScreen(tty);
  screen.draw([printable`one`, printable`two`]);
  screen.draw([printable`one`]);
  expect(tty.last()).toContain("\r\x1b[0m\x1b[K\r\n");
});

it("draws everything again after the terminal's size has changed", () => {
  const tty = terminal();
  const screen = new LiveScreen(tty);
  screen.draw([printable`one`]);
  tty.columns = 20;
  screen.draw([printable`one`]);
  expect(tty.last()).toContain("\x1b[2J\x1b[H");
  expect(tty.last()).toContain("one");
});
