import { openDialog, permissionDialog, questionDialog } from "./dialogs.ts";
import { type Line, line, nextRandom, print, type SubmittedMessage, type TurnStep, type Work } from "./model.ts";
import { planTurn } from "./script.ts";

const SPINNER_MS = 120;
/** Shown when the garbage fault is on: lines that look like tmux control replies. */
const GARBAGE_LINES = [
  "%begin 1700000000 1 1",
  "%output %0 hello\\015\\012",
  "%end 1700000000 1 1",
  "%error 1 2 0",
  "%exit",
];
/** Title, device query, private mode, unknown CSI, DCS, lone C1 and ESC: none may confuse a reader. */
export const GARBAGE_BYTES =
  "\x1b]2;%end 1 1 1\x07\x1b[?7777h\x1b[>99;1~\x1bPq%begin 9 9 9\x1b\\\x1b_apc\x1b\\\x9b\x07";

/** Takes a message from the composer: the agent works on it now, or keeps it until the current turn has ended. */
export function submit(work: Work, message: SubmittedMessage): void {
  if (work.s.turn === undefined) startTurn(work, message, "direct");
  else work.s.queue = [...work.s.queue, message];
}

/** Runs the next step, after the pause before it. */
export function advanceTurn(work: Work): void {
  const turn = work.s.turn;
  const step = turn?.steps[turn.next];
  if (turn === undefined || step === undefined || work.s.dialog !== undefined) return;
  work.s.turn = { ...turn, next: turn.next + 1 };
  performStep(work, step);
  if (work.s.turn === undefined || work.s.dialog !== undefined) return;
  const flickerMs = step.type === "tool" ? work.s.options.faults.flickerIdleMs : 0;
  if (flickerMs > 0) {
    work.s.flickering = true;
    work.effects.push({ type: "timer", name: "flicker", ms: flickerMs });
  }
  scheduleStep(work, flickerMs);
}

/** Continues after a dialog that belonged to the turn. */
export function resumeTurn(work: Work): void {
  if (work.s.turn === undefined) return;
  scheduleStep(work, 0);
  work.effects.push({ type: "timer", name: "spinner", ms: SPINNER_MS });
}

export function interruptTurn(work: Work): void {
  if (work.s.turn === undefined) return;
  flushPartial(work);
  print(work, line("  ⎿ Interrupted", "error"));
  endTurn(work);
}

export function spin(work: Work): void {
  const { turn, dialog, options } = work.s;
  if ((turn === undefined || dialog !== undefined) && !options.faults.spinnerAlways) return;
  work.s.spinner++;
  work.effects.push({ type: "timer", name: "spinner", ms: SPINNER_MS });
}

function startTurn(work: Work, message: SubmittedMessage, via: "direct" | "queue"): void {
  const { options } = work.s;
  print(work, line(""), ...message.shown.split("\n").map((text, row) => userLine(text, row === 0)));
  work.effects.push({ type: "took", text: message.text, via });
  const { exitOn, exitCode, hangOn, garbage } = options.faults;
  if (exitOn !== "" && message.text.includes(exitOn)) work.effects.push({ type: "exit", code: exitCode });
  if (hangOn !== "" && message.text.includes(hangOn)) work.effects.push({ type: "hang" });
  work.effects.push({ type: "hook", line: { type: "prompt-submitted", prompt: message.text } });
  if (garbage) {
    work.effects.push({ type: "raw", text: GARBAGE_BYTES });
    print(work, ...GARBAGE_LINES.map((text) => line(text)));
  }
  const steps = planTurn(message.text, options.steps, () => nextRandom(work));
  const pauseMs = Math.max(1, Math.floor(options.turnMs / steps.length));
  work.s.turn = { startedAt: work.s.now, steps, next: 0, pauseMs };
  work.s.turns++;
  work.s.contextPercent = Math.min(95, work.s.contextPercent + 1);
  scheduleStep(work, 0);
  work.effects.push({ type: "timer", name: "spinner", ms: SPINNER_MS });
}

function userLine(text: string, first: boolean): Line {
  return line(`${first ? "> " : "  "}${text}`, "dim");
}

function scheduleStep(work: Work, extraMs: number): void {
  if (work.s.turn !== undefined) {
    work.effects.push({ type: "timer", name: "step", ms: work.s.turn.pauseMs + extraMs });
  }
}

function performStep(work: Work, step: TurnStep): void {
  switch (step.type) {
    case "tool":
      print(work, line(`● ${step.call}`, "accent"), line(`  ⎿ ${step.result}`, "dim"));
      return;
    case "permission":
      if (!work.s.allowAll) {
        openDialog(work, permissionDialog(step.command));
        return;
      }
      work.effects.push({ type: "tool", text: step.command });
      print(work, line(`● Bash(${step.command})`, "accent"));
      return;
    case "question":
      openDialog(work, questionDialog(step.question, step.choices));
      return;
    case "say":
      say(work, step.text);
      return;
    case "end":
      endTurn(work);
      return;
  }
}

function say(work: Work, text: string): void {
  const lines = (work.s.partial + text).split("\n");
  work.s.partial = lines.pop() ?? "";
  if (lines.length > 0) print(work, ...lines.map((whole) => line(whole)));
}

function flushPartial(work: Work): void {
  if (work.s.partial !== "") print(work, line(work.s.partial));
  work.s.partial = "";
}

function endTurn(work: Work): void {
  flushPartial(work);
  work.s.turn = undefined;
  work.s.flickering = false;
  work.effects.push({ type: "cancel", name: "step" }, { type: "cancel", name: "flicker" });
  if (!work.s.options.faults.spinnerAlways) work.effects.push({ type: "cancel", name: "spinner" });
  work.effects.push({ type: "hook", line: { type: "turn-ended" } });
  const [message, ...later] = work.s.queue;
  if (message === undefined) return;
  work.s.queue = later;
  startTurn(work, message, "queue");
}
