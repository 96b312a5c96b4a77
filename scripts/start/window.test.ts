import { EventEmitter } from "node:events";
import { closeSync, openSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { Window } from "./window.ts";

function terminal(columns: number, rows: number) {
  const raw: boolean[] = [];
  const written: string[] = [];
  const nothing = () => {};
  const tty = Object.assign(new EventEmitter(), {
    columns,
    rows,
    setRawMode: (isRaw: boolean) => void raw.push(isRaw),
    resume: nothing,
    pause: nothing,
    write: (text: string) => void written.push(text),
  });
  return { tty: tty as never, raw, written };
}

/** A process that gets signals from the test, and is stopped or continues by name only. */
function process() {
  const signals = new EventEmitter();
  return Object.assign(signals, { stop: () => {}, isInFront: () => true });
}

function nowhere(): number {
  const fd = openSync("/dev/null", "w");
  onTestFinished(() => closeSync(fd));
  return fd;
}

it.each([
  { says: [10, 3], is: [10, 3] },
  { says: [1, 1], is: [1, 1] },
  { says: [0, 0], is: [80, 24] },
] as const)("draws on a terminal that says $says as on one of $is", ({ says: [columns, rows], is }) => {
  const { tty } = terminal(columns, rows);
  using window = new Window(tty, tty, { quit: () => {}, redraw: () => {} }, nowhere(), process());
  expect([window.columns, window.rows]).toEqual(is);
});

it("leaves the terminal alone while the process is stopped, and draws every row afterwards", () => {
  const { tty, raw, written } = terminal(10, 3);
  const host = process();
  let redraws = 0;
  using window = new Window(tty, tty, { quit: () => {}, redraw: () => redraws++ }, nowhere(), host);
  window.draw(["one", "two"]);
  host.emit("SIGTSTP");
  expect(raw).toEqual([true, false]);
  written.length = 0;
  window.draw(["one", "2"]);
  (tty as EventEmitter).emit("resize");
  expect(written).toEqual([]);
  redraws = 0;
  host.emit("SIGCONT");
  expect({ raw, redraws }).toEqual({ raw: [true, false, true], redraws: 1 });
  window.draw(["one", "2"]);
  expect(written.join("")).toMatch(/one.*2/s);
});
