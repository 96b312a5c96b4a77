import { pressInDialog } from "./answer-dialog.ts";
import { runOwnCommand } from "./commands.ts";
import { composerText, edit, emptyComposer, foldLabel, folds, fullText, insertPaste, insertText } from "./composer.ts";
import { openDialog, permissionDialog, trustDialog } from "./dialogs.ts";
import type { Key, KeyName } from "./key-decoder.ts";
import { type Effect, type Event, line, print, type State, type TimerName, type Work } from "./model.ts";
import type { DemoOptions } from "./options.ts";
import { advanceTurn, GARBAGE_BYTES, interruptTurn, spin, submit } from "./turn.ts";

const QUIT_WINDOW_MS = 2000;
/** Long enough for the echo of the paste to be seen, short enough to come before any Enter. */
const DIALOG_AFTER_PASTE_MS = 15;

export function initialState(options: DemoOptions, cols: number, rows: number): State {
  return {
    options,
    cols,
    rows,
    now: 0,
    starting: options.faults.slowStartMs > 0,
    composer: emptyComposer,
    pastes: 0,
    turn: undefined,
    dialog: undefined,
    queue: [],
    partial: "",
    spinner: 0,
    flickering: false,
    model: "demo",
    contextPercent: 12,
    turns: 0,
    allowAll: false,
    quitArmed: false,
    pastedAt: undefined,
    enterDropped: false,
    late: [],
    random: options.seed >>> 0,
    transcript: [],
  };
}

/** The whole behaviour of the agent: the state after an event, and the actions to take outside. Pure. */
export function reduce(
  state: State,
  event: Event,
  now: number,
): { readonly state: State; readonly effects: readonly Effect[] } {
  const work: Work = { s: { ...state, now }, effects: [] };
  switch (event.type) {
    case "start":
      start(work);
      break;
    case "resize":
      work.s.cols = event.cols;
      work.s.rows = event.rows;
      break;
    case "timer":
      onTimer(work, event.name);
      break;
    case "key":
      if (state.options.faults.echoDelayMs > 0) delay(work, event.key);
      else onKey(work, event.key);
      break;
  }
  return { state: work.s, effects: work.effects };
}

function start(work: Work): void {
  const { options } = work.s;
  if (work.s.starting) {
    print(work, line("Starting…", "dim"));
    work.effects.push({ type: "timer", name: "start", ms: options.faults.slowStartMs });
    return;
  }
  print(
    work,
    line("Demo agent", "bold"),
    line("It answers, asks and queues like a coding agent, and does nothing. /help", "dim"),
  );
  if (options.faults.garbage) work.effects.push({ type: "raw", text: GARBAGE_BYTES });
  if (options.faults.spinnerAlways) work.effects.push({ type: "timer", name: "spinner", ms: 120 });
  work.effects.push({ type: "hook", line: { type: "session-start" } });
  if (options.trustDialog) openDialog(work, trustDialog());
}

function onTimer(work: Work, name: TimerName): void {
  switch (name) {
    case "start":
      work.s.starting = false;
      start(work);
      return;
    case "step":
      advanceTurn(work);
      return;
    case "spinner":
      spin(work);
      return;
    case "flicker":
      work.s.flickering = false;
      return;
    case "quit":
      work.s.quitArmed = false;
      return;
    case "dialog":
      if (work.s.dialog === undefined) openDialog(work, permissionDialog("make deploy"));
      return;
    case "late":
      onLate(work);
      return;
  }
}

function delay(work: Work, key: Key): void {
  const ms = work.s.options.faults.echoDelayMs;
  if (work.s.late.length === 0) work.effects.push({ type: "timer", name: "late", ms });
  work.s.late = [...work.s.late, { dueAt: work.s.now + ms, key }];
}

function onLate(work: Work): void {
  // Timers may fire a fraction early.
  while (work.s.late[0] !== undefined && work.s.late[0].dueAt <= work.s.now + 1) {
    const [first, ...later] = work.s.late;
    work.s.late = later;
    if (first !== undefined) onKey(work, first.key);
  }
  const next = work.s.late[0];
  if (next !== undefined) {
    work.effects.push({ type: "timer", name: "late", ms: Math.max(1, Math.ceil(next.dueAt - work.s.now)) });
  }
}

function onKey(work: Work, key: Key): void {
  if (key.type === "key" && key.name === "interrupt") {
    onInterrupt(work);
    return;
  }
  if (key.type === "key" && key.name === "redraw") return;
  if (work.s.dialog !== undefined) {
    pressInDialog(work, work.s.dialog, key);
    return;
  }
  if (key.type === "text") work.s.composer = insertText(work.s.composer, key.text);
  else if (key.type === "paste") onPaste(work, key.text);
  else onNamedKey(work, key.name);
}

function onNamedKey(work: Work, name: KeyName): void {
  if (name === "enter") {
    onEnter(work);
    return;
  }
  if (name === "escape") {
    interruptTurn(work);
    return;
  }
  if (name === "end-of-input") {
    if (work.s.composer.units.length === 0) work.effects.push({ type: "exit", code: 0 });
    return;
  }
  work.s.composer = edit(work.s.composer, name);
}

function onPaste(work: Work, text: string): void {
  work.s.pastedAt = work.s.now;
  if (folds(text)) {
    work.s.pastes++;
    work.s.composer = insertPaste(work.s.composer, text, foldLabel(work.s.pastes, text));
  } else {
    work.s.composer = insertText(work.s.composer, text);
  }
  if (work.s.options.faults.openDialogOnPaste) {
    work.effects.push({ type: "timer", name: "dialog", ms: DIALOG_AFTER_PASTE_MS });
  }
}

function onEnter(work: Work): void {
  const { composer, options, pastedAt, now } = work.s;
  if (work.s.starting) return;
  const text = fullText(composer);
  if (text.trim() === "") return;
  if (options.faults.dropFirstEnter && !work.s.enterDropped) {
    work.s.enterDropped = true;
    return;
  }
  if (pastedAt !== undefined && now - pastedAt < options.faults.eatEnterAfterPasteMs) {
    work.s.composer = edit(composer, "newline");
    return;
  }
  if (text.endsWith("\\")) {
    work.s.composer = edit(edit(composer, "backspace"), "newline");
    return;
  }
  work.s.composer = emptyComposer;
  work.s.enterDropped = false;
  if (!runOwnCommand(work, text)) submit(work, { text, shown: composerText(composer) });
}

/** The first Ctrl-C clears the draft and stops the turn; a second one within two seconds quits. */
function onInterrupt(work: Work): void {
  if (work.s.quitArmed) {
    work.effects.push({ type: "exit", code: 0 });
    return;
  }
  work.s.quitArmed = true;
  work.effects.push({ type: "timer", name: "quit", ms: QUIT_WINDOW_MS });
  if (work.s.dialog !== undefined) {
    pressInDialog(work, work.s.dialog, { type: "key", name: "escape" });
    return;
  }
  work.s.composer = emptyComposer;
  interruptTurn(work);
}
