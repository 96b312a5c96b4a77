import { expect, it } from "vitest";
import { systemClock } from "../../../internal/base/clock.ts";
import { AttachView } from "./attach-view.ts";

// The emulator's window has at least two columns.
it.each([
  [10_000, 10_000, 500, 300],
  [501, 301, 500, 300],
  [120, 40, 120, 40],
  [0, -1, 2, 1],
  [Number.NaN, Number.POSITIVE_INFINITY, 2, 1],
])("shows a window that the server calls %dx%d as %dx%d", (wantedCols, wantedRows, cols, rows) => {
  const over = new AbortController();
  const view = new AttachView(systemClock, { columns: 80, rows: 24, write: () => true }, over.signal);
  view.resized(wantedCols, wantedRows);
  expect(view.keyView).toMatchObject({ cols, rows });
  over.abort();
});
