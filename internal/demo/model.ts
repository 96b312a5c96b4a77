import type { Composer } from "./composer.ts";
import type { Key } from "./key-decoder.ts";
import type { DemoOptions } from "./options.ts";

export type Style = "plain" | "dim" | "bold" | "accent" | "error" | "selected";

/** A line of the transcript or of the live region: stretches of text, each in one style. */
export type Line = readonly { readonly text: string; readonly style: Style }[];

/** A message in transit: the text for the model, and the text that the screen shows for it (folded pastes). */
export interface SubmittedMessage {
  readonly text: string;
  readonly shown: string;
}

export type DialogPurpose =
  | { readonly type: "trust" }
  | { readonly type: "permission"; readonly command: string }
  | { readonly type: "question"; readonly question: string }
  | { readonly type: "model" };

export interface DemoDialog {
  readonly purpose: DialogPurpose;
  readonly title: string;
  /** Lines between the title and the choices. */
  readonly body: readonly string[];
  readonly choices: readonly string[];
  readonly selected: number;
  /** Set if the last choice is a field: the text typed into it. */
  readonly field?: string;
}

/** One thing that happens in a turn; a turn is a list of them with the same pause before each. */
export type TurnStep =
  | { readonly type: "tool"; readonly call: string; readonly result: string }
  | { readonly type: "permission"; readonly command: string }
  | { readonly type: "question"; readonly question: string; readonly choices: readonly string[] }
  | { readonly type: "say"; readonly text: string }
  | { readonly type: "end" };

interface Turn {
  /** Monotonic ms. */
  readonly startedAt: number;
  readonly steps: readonly TurnStep[];
  readonly next: number;
  readonly pauseMs: number;
}

export type TimerName = "start" | "step" | "spinner" | "flicker" | "quit" | "late" | "dialog";

export interface State {
  readonly options: DemoOptions;
  cols: number;
  rows: number;
  /** Monotonic ms of the last event. */
  now: number;
  starting: boolean;
  composer: Composer;
  /** Number of the last folded paste. */
  pastes: number;
  /** Present while the agent is working. */
  turn: Turn | undefined;
  dialog: DemoDialog | undefined;
  /** Messages typed while the agent was working, oldest first. */
  queue: readonly SubmittedMessage[];
  /** The last line of the answer, which has no line end yet. */
  partial: string;
  spinner: number;
  /** True while a fault shows the busy agent as idle. */
  flickering: boolean;
  model: string;
  contextPercent: number;
  turns: number;
  /** "do not ask again" was chosen. */
  allowAll: boolean;
  quitArmed: boolean;
  /** Monotonic ms of the last paste; absent before the first. */
  pastedAt: number | undefined;
  enterDropped: boolean;
  /** Keys held back by the echo-delay fault. */
  late: readonly { readonly dueAt: number; readonly key: Key }[];
  random: number;
  /** The last lines printed; kept only on the alternate screen, for which the terminal keeps no history. */
  transcript: readonly Line[];
}

export type Event =
  | { readonly type: "start" }
  | { readonly type: "key"; readonly key: Key }
  | { readonly type: "timer"; readonly name: TimerName }
  | { readonly type: "resize"; readonly cols: number; readonly rows: number };

export type HookLine =
  | { readonly type: "session-start" }
  | { readonly type: "prompt-submitted"; readonly prompt: string }
  | { readonly type: "turn-ended" }
  | { readonly type: "waiting"; readonly reason: string };

/** An action to take outside the reducer. The actions of a list are taken in its order. */
export type Effect =
  | { readonly type: "print"; readonly lines: readonly Line[] }
  /** Bytes that the terminal gets as they are; only the garbage fault sends any. */
  | { readonly type: "raw"; readonly text: string }
  | { readonly type: "clear" }
  | { readonly type: "timer"; readonly name: TimerName; readonly ms: number }
  | { readonly type: "cancel"; readonly name: TimerName }
  /** The agent really took this message. */
  | { readonly type: "took"; readonly text: string; readonly via: "direct" | "queue" }
  /** A line for the tool log. */
  | { readonly type: "tool"; readonly text: string }
  | { readonly type: "hook"; readonly line: HookLine }
  | { readonly type: "hang" }
  | { readonly type: "exit"; readonly code: number };

/** The working copy of a reducer: a copy of the state to write on, and the effects so far. Never leaves `reduce`. */
export interface Work {
  readonly s: State;
  readonly effects: Effect[];
}

/** Lines kept for redrawing the alternate screen. */
const TRANSCRIPT_LIMIT = 1000;

export function print(work: Work, ...lines: readonly Line[]): void {
  work.effects.push({ type: "print", lines });
  if (work.s.options.alternateScreen) work.s.transcript = [...work.s.transcript, ...lines].slice(-TRANSCRIPT_LIMIT);
}

export function line(text: string, style: Style = "plain"): Line {
  return [{ text, style }];
}

export function plainLine(content: Line): string {
  return content.map((span) => span.text).join("");
}

/** The next pseudo-random number, 0 ≤ n < 1; the same seed gives the same sequence. */
export function nextRandom(work: { readonly s: { random: number } }): number {
  work.s.random = (Math.imul(work.s.random, 1664525) + 1013904223) >>> 0;
  return work.s.random / 2 ** 32;
}
