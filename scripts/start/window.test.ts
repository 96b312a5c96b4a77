import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { Window } from "./window.ts";

/** A terminal that is gone when the window leaves it, so that nothing is written to the test's own. */
function terminal(columns: number, rows: number) {
  const setRawMode = (isRaw: boolean) => {
    if (!isRaw) throw new Error("EIO");
  };
  const nothing = () => {};
  return Object.assign(new EventEmitter(), {
    columns,
    rows,
    setRawMode,
    resume: nothing,
    pause: nothing,
    write: nothing,
  });
}

it.each([
  { says: [10, 3], is: [10, 3] },
  { says: [1, 1], is: [1, 1] },
  { says: [0, 0], is: [80, 24] },
] as const)("draws on a terminal that says $says as on one of $is", ({ says: [columns, rows], is }) => {
  const tty = terminal(columns, rows);
  using window = new Window(tty as never, tty as never, { quit: () => {}, resize: () => {} });
  expect([window.columns, window.rows]).toEqual(is);
});
