/** Rows reported at once must be fewer than the emulator's history holds. */
const SLICE_LINES = 400;
/** The largest screen that is drawn. The agent can ask tmux for more, and every cell of it would be held here. */
const MAX_COLS = 500;
const MAX_ROWS = 300;

/** The beginning of the data, with at most SLICE_LINES line feeds. */
export function fewLines(data: Uint8Array): Uint8Array {
  let end = -1;
  for (let lines = 0; lines < SLICE_LINES; lines++) {
    end = data.indexOf(0x0a, end + 1);
    if (end < 0) return data;
  }
  return data.subarray(0, end + 1);
}

/** The size at which a window of that size is drawn. */
export function withinBounds(cols: number, rows: number): { readonly cols: number; readonly rows: number } {
  return { cols: Math.min(cols, MAX_COLS), rows: Math.min(rows, MAX_ROWS) };
}
