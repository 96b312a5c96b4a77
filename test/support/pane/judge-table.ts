import { describe, expect, it } from "vitest";
import type { DialogView, FileState, HookEvent, ScreenView } from "../../../internal/agents/profile.ts";
import { type JudgeSignals, judge, type ProcessSign } from "../../../internal/pane/state/judge.ts";

export const NOW = 1_000_000;
export const STALL_AFTER_MS = 600_000;

export const composer = { top: 1, bottom: 1, text: "", pasteMarkers: 0 };
const dialogView: DialogView = { kind: "permission", title: "Run it?", text: "", choices: [] };
export const IDLE_SCREEN: ScreenView = { composer };
export const BUSY_SCREEN: ScreenView = { composer, busy: "esc to interrupt" };
export const DIALOG_SCREEN: ScreenView = { dialog: dialogView };
export const PARKED_SCREEN: ScreenView = { composer, parked: "limit" };
export const UNKNOWN_SCREEN: ScreenView = {};

export interface JudgeInput {
  readonly process?: ProcessSign;
  /** Default: true. */
  readonly everReady?: boolean;
  readonly hook?: readonly [HookEvent | HookEvent["type"], ageMs: number];
  readonly file?: readonly [FileState["type"], ageMs: number];
  /** `stillMs`: the time for which the area around the composer has not changed; default `ageMs`. */
  readonly screen?: readonly [ScreenView, ageMs: number, stillMs?: number];
  readonly proof?: "screen" | "silence";
  readonly outputAge?: number;
  readonly startedAge?: number;
  readonly submittedAge?: number;
  /** The age of the last typed text; see `JudgeSignals.typedAt`. */
  readonly typedAge?: number;
}

function signalsOf(seen: JudgeInput): JudgeSignals {
  const { hook, file, screen } = seen;
  return {
    process: seen.process ?? { type: "alive" },
    startedAt: NOW - (seen.startedAge ?? 100_000),
    everReady: seen.everReady ?? true,
    hook: hook && { event: eventOf(hook[0]), at: NOW - hook[1] },
    file: file && { state: fileOf(file[0]), at: NOW - file[1] },
    screen: screen && {
      view: screen[0],
      since: NOW - screen[1],
      stillSince: NOW - (screen[2] ?? screen[1]),
      idleProof: seen.proof ?? "screen",
    },
    lastOutputAt: NOW - (seen.outputAge ?? 100),
    submittedAt: seen.submittedAge === undefined ? undefined : NOW - seen.submittedAge,
    typedAt: seen.typedAge === undefined ? undefined : NOW - seen.typedAge,
  };
}

function eventOf(event: HookEvent | HookEvent["type"]): HookEvent {
  if (typeof event !== "string") return event;
  return event === "waiting" ? { type: event, reason: "permission" } : { type: event };
}

function fileOf(type: FileState["type"]): FileState {
  return type === "waiting" ? { type, reason: "permission prompt" } : { type };
}

export const verdictOf = (seen: JudgeInput) => judge(signalsOf(seen), NOW, { stallAfterMs: STALL_AFTER_MS });

export type Row = readonly [what: string, seen: JudgeInput, verdict: string];

export function table(name: string, rows: readonly Row[]): void {
  describe(name, () => {
    it.each(rows)("%s", (_, seen, verdict) => {
      const { state, evidence } = verdictOf(seen);
      const [first] = evidence;
      expect(`${state} by ${first?.source} (${first?.confidence})`).toBe(verdict);
    });
  });
}

export const deadProcess = (restartDue: boolean, crashLoop = false): ProcessSign => ({
  type: "dead",
  restartDue,
  crashLoop,
});
