import { clipText, textWidth } from "../base/text-width.ts";
import { choiceLabels } from "./dialogs.ts";
import { type DemoDialog, type Line, line, type State } from "./model.ts";
import { wrapDraft, wrapText } from "./wrap.ts";

/** The live region at the bottom, redrawn in place; lines are never wider than the terminal. */
export interface LiveRegion {
  readonly lines: readonly Line[];
  /** The cursor's row within `lines`, and its column; absent: the cursor is hidden. */
  readonly cursor: { readonly row: number; readonly column: number } | undefined;
  readonly title: string;
}

const SPINNER = ["✳", "✶", "✻", "✽", "✻", "✶"] as const;
const PLACEHOLDER = "Type a message";
/** Rows of the live region besides the draft: two rules, busy line, status line, one to spare. */
const OTHER_ROWS = 5;

/**
 * Draws a state. From the bottom: status line, rule, composer (or the dialog in its place), rule, busy line, the
 * agent's own queue, the unfinished line of the answer.
 */
export function render(state: State): LiveRegion {
  if (state.starting) return { lines: [], cursor: undefined, title: "✳ demo" };
  const busy = state.turn !== undefined && !state.flickering;
  const rule = line("─".repeat(state.cols), "dim");
  const above = busy ? busyLines(state) : [];
  const box =
    state.dialog === undefined
      ? composerBox(state)
      : { lines: dialogLines(state.dialog, state.cols), cursor: undefined };
  const lines = [...above, rule, ...box.lines, rule, statusLine(state, busy)];
  // A live region taller than the terminal could not be redrawn in place.
  const cut = Math.max(0, lines.length - state.rows);
  const offset = above.length + 1 - cut;
  const cursor = box.cursor === undefined ? undefined : { row: box.cursor.row + offset, column: box.cursor.column };
  return {
    lines: lines.slice(cut),
    cursor: cursor !== undefined && cursor.row >= 0 ? cursor : undefined,
    title: busy ? "⠂ demo" : "✳ demo",
  };
}

function busyLines(state: State): Line[] {
  const partial = state.partial === "" ? [] : wrapText(state.partial, state.cols).map((row) => line(row));
  const queued = state.queue.map((message) => {
    const text = message.shown.replaceAll("\n", " ");
    return line(clipText(`  ⏳ queued: ${text}`, state.cols), "dim");
  });
  if (state.dialog !== undefined || state.turn === undefined) return [...partial, ...queued];
  const seconds = Math.floor((state.now - state.turn.startedAt) / 1000);
  const mark = SPINNER[state.spinner % SPINNER.length] ?? "✳";
  return [
    ...partial,
    ...queued,
    line(clipText(`${mark} Working… (${seconds}s · esc to interrupt)`, state.cols), "accent"),
  ];
}

function composerBox(state: State): { readonly lines: Line[]; readonly cursor: { row: number; column: number } } {
  if (state.composer.units.length === 0) {
    const empty: Line = [
      { text: "> ", style: "plain" },
      { text: clipText(PLACEHOLDER, state.cols - 2), style: "dim" },
    ];
    return { lines: [empty], cursor: { row: 0, column: 2 } };
  }
  // The last column stays free for the cursor.
  const draft = wrapDraft(state.composer, Math.max(1, state.cols - 3));
  const most = Math.max(1, state.rows - OTHER_ROWS);
  const first = Math.max(0, Math.min(draft.cursorRow - most + 1, draft.rows.length - most));
  const shown = draft.rows.slice(first, first + most);
  return {
    lines: shown.map((row, index) => line(`${first + index === 0 ? "> " : "  "}${row}`)),
    cursor: { row: draft.cursorRow - first, column: 2 + draft.cursorColumn },
  };
}

function dialogLines(dialog: DemoDialog, cols: number): Line[] {
  const choices = choiceLabels(dialog).map((label, index) => {
    const selected = index === dialog.selected;
    return line(clipText(`${selected ? "❯" : " "} ${index + 1}. ${label}`, cols), selected ? "selected" : "plain");
  });
  return [
    line(clipText(`? ${dialog.title}`, cols), "bold"),
    ...dialog.body.map((text) => line(clipText(text, cols))),
    ...choices,
    line(clipText("Enter to choose · Esc to cancel", cols), "dim"),
  ];
}

function statusLine(state: State, busy: boolean): Line {
  // The last column stays free: clearing after a full row would erase its last character.
  return line(clipText(statusText(state, busy), state.cols - 1), "dim");
}

function statusText(state: State, busy: boolean): string {
  if (state.quitArmed) return "press ctrl-c again to quit";
  if (state.dialog !== undefined) return "waiting for you";
  if (busy) return "esc to interrupt";
  const clock = state.options.faults.spinnerAlways
    ? ` · ${SPINNER[state.spinner % SPINNER.length]} ${state.spinner}`
    : "";
  return `ready · ${state.model} model · ctx ${state.contextPercent}%${clock}`;
}

/** Terminal rows that a drawn line takes once the terminal is `cols` wide. */
export function rowsTaken(width: number, cols: number): number {
  return Math.max(1, Math.ceil(width / Math.max(1, cols)));
}

export function lineWidth(content: Line): number {
  return content.reduce((sum, span) => sum + textWidth(span.text), 0);
}
