import { describe, expect, it } from "vitest";
import type { DialogView, FileState, HookEvent, ScreenView } from "../../agents/profile.ts";
import { judge, type ProcessSign, type Signals } from "./judge.ts";

/** Everything happens at this moment; ages are milliseconds before it. */
const NOW = 1_000_000;
const STALL_AFTER_MS = 600_000;

const composer = { top: 1, bottom: 1, text: "", pasteMarkers: 0 };
const dialogView: DialogView = { kind: "permission", title: "Run it?", text: "", choices: [] };
const IDLE: ScreenView = { composer };
const BUSY: ScreenView = { composer, busy: "esc to interrupt" };
const DIALOG: ScreenView = { dialog: dialogView };
const PARKED: ScreenView = { composer, parked: "limit" };
const UNKNOWN: ScreenView = {};

interface Seen {
  readonly process?: ProcessSign;
  /** Default: it took messages before. */
  readonly everReady?: boolean;
  readonly hook?: readonly [HookEvent | HookEvent["type"], ageMs: number];
  readonly file?: readonly [FileState["type"], ageMs: number];
  /** `stillMs`: for how long nothing around the composer has moved; default `ageMs`. */
  readonly screen?: readonly [ScreenView, ageMs: number, stillMs?: number];
  readonly proof?: "screen" | "silence";
  readonly outputAge?: number;
  readonly startedAge?: number;
  readonly submittedAge?: number;
  /** Something was typed then; see `Signals.typedAt`. */
  readonly typedAge?: number;
}

function signalsOf(seen: Seen): Signals {
  const { hook, file, screen } = seen;
  return {
    process: seen.process ?? { type: "alive" },
    startedAt: NOW - (seen.startedAge ?? 100_000),
    everReady: seen.everReady ?? true,
    ...(hook && { hook: { event: eventOf(hook[0]), at: NOW - hook[1] } }),
    ...(file && { file: { state: fileOf(file[0]), at: NOW - file[1] } }),
    ...(screen && {
      screen: {
        view: screen[0],
        since: NOW - screen[1],
        stillSince: NOW - (screen[2] ?? screen[1]),
        idleProof: seen.proof ?? "screen",
      },
    }),
    lastOutputAt: NOW - (seen.outputAge ?? 100),
    ...(seen.submittedAge !== undefined && { submittedAt: NOW - seen.submittedAge }),
    ...(seen.typedAge !== undefined && { typedAt: NOW - seen.typedAge }),
  };
}

function eventOf(event: HookEvent | HookEvent["type"]): HookEvent {
  if (typeof event !== "string") return event;
  return event === "waiting" ? { type: event, reason: "permission" } : { type: event };
}

function fileOf(type: FileState["type"]): FileState {
  return type === "waiting" ? { type, reason: "permission prompt" } : { type };
}

const verdictOf = (seen: Seen) => judge(signalsOf(seen), NOW, { stallAfterMs: STALL_AFTER_MS });

type Row = readonly [what: string, seen: Seen, verdict: string];

function table(name: string, rows: readonly Row[]): void {
  describe(name, () => {
    it.each(rows)("%s", (_, seen, verdict) => {
      const { state, evidence } = verdictOf(seen);
      const [first] = evidence;
      expect(`${state} by ${first?.source} (${first?.confidence})`).toBe(verdict);
    });
  });
}

const dead = (restartDue: boolean, crashLoop = false): ProcessSign => ({ type: "dead", restartDue, crashLoop });

table("the process comes first", [
  [
    "nobody has looked for it yet",
    { process: { type: "expected" }, screen: [IDLE, 9000] },
    "starting by process (weak)",
  ],
  ["it ended", { process: dead(false), screen: [IDLE, 9000] }, "dead by process (proof)"],
  ["it will be started again", { process: dead(true), file: ["busy", 0] }, "starting by process (proof)"],
  ["it keeps ending", { process: dead(true, true) }, "crash-loop by process (proof)"],
  ["it was asked to stop", { process: { type: "stopping" }, screen: [DIALOG, 10] }, "stopping by process (proof)"],
]);

table("any source may say that a person is needed", [
  [
    "a dialog on the screen, whatever the file says",
    { screen: [DIALOG, 10], file: ["idle", 50] },
    "dialog by screen (strong)",
  ],
  [
    "a dialog on the screen, whatever a hook says",
    { screen: [DIALOG, 10], hook: ["turn-ended", 5] },
    "dialog by screen (strong)",
  ],
  ["a dialog at the very start", { screen: [DIALOG, 10], everReady: false }, "dialog by screen (strong)"],
  [
    "the file waits, whatever the screen shows",
    { screen: [IDLE, 9000], file: ["waiting", 10] },
    "dialog by agent-file (strong)",
  ],
  ["a fresh hook says waiting", { screen: [IDLE, 9000], hook: ["waiting", 100] }, "dialog by hook (strong)"],
  [
    "a waiting hook just before it expires",
    { screen: [IDLE, 9000], hook: ["waiting", 1499] },
    "dialog by hook (strong)",
  ],
  [
    "a waiting hook that nothing else supports expires",
    { screen: [IDLE, 9000], hook: ["waiting", 1500] },
    "idle by screen (weak)",
  ],
  [
    "an expired waiting hook and a busy file",
    { screen: [IDLE, 9000], hook: ["waiting", 2000], file: ["busy", 100] },
    "busy by agent-file (strong)",
  ],
  ["a limit on the screen", { screen: [PARKED, 100], file: ["busy", 100] }, "parked by screen (strong)"],
  ["a dialog before a limit", { screen: [{ ...DIALOG, parked: "limit" }, 5] }, "dialog by screen (strong)"],
]);

table("starting until it has shown that it takes messages", [
  ["nothing seen", { everReady: false }, "starting by process (strong)"],
  ["a screen without a composer", { everReady: false, screen: [UNKNOWN, 9000] }, "starting by process (strong)"],
  [
    "a busy mark before the first composer",
    { everReady: false, screen: [{ busy: "x" }, 9] },
    "starting by process (strong)",
  ],
  ["a hook ends it", { everReady: false, hook: ["session-start", 10] }, "uncertain by output (weak)"],
  ["a state file ends it", { everReady: false, file: ["busy", 10] }, "busy by agent-file (strong)"],
  [
    "a program of which nothing is known, while it shows nothing",
    { everReady: false, screen: [UNKNOWN, 10], proof: "silence", startedAge: 4000 },
    "starting by process (strong)",
  ],
  [
    "a program of which nothing is known, but not forever",
    { everReady: false, screen: [UNKNOWN, 10], proof: "silence", startedAge: 5000 },
    "uncertain by output (weak)",
  ],
]);

table("busy by any source", [
  ["the file", { file: ["busy", 10], screen: [IDLE, 9000] }, "busy by agent-file (strong)"],
  [
    "the file, although the turn is said to have ended",
    { file: ["busy", 10], hook: ["turn-ended", 300] },
    "busy by agent-file (strong)",
  ],
  [
    "the mark on the screen, although the file says idle",
    { screen: [BUSY, 10], file: ["idle", 9000] },
    "busy by screen (strong)",
  ],
  [
    "the mark on the screen, although the turn is said to have ended",
    { screen: [BUSY, 10], hook: ["turn-ended", 50] },
    "busy by screen (strong)",
  ],
  ["a hook: it took a prompt", { hook: ["prompt-submitted", 10], screen: [IDLE, 9000] }, "busy by hook (strong)"],
  ["a hook: a tool runs", { hook: ["activity", 4000], screen: [IDLE, 3000] }, "busy by hook (strong)"],
  [
    "a hook, when the file's idle is older",
    { hook: ["prompt-submitted", 100], file: ["idle", 200], screen: [IDLE, 150] },
    "busy by hook (strong)",
  ],
  [
    "not a hook that the file has denied since",
    { hook: ["prompt-submitted", 900], file: ["idle", 300], screen: [IDLE, 300] },
    "idle by agent-file (strong)",
  ],
  [
    "not a hook that is alone for five seconds",
    { hook: ["activity", 5000], screen: [IDLE, 4000] },
    "uncertain by screen (weak)",
  ],
  [
    "a hook that is alone, while no composer is seen",
    { hook: ["activity", 5000], screen: [UNKNOWN, 4000] },
    "busy by hook (strong)",
  ],
  [
    "not a hook against a file that says idle for five seconds after it",
    { hook: ["prompt-submitted", 5000], file: ["idle", 60_000], screen: [IDLE, 5000] },
    "idle by agent-file (strong)",
  ],
]);

const helper = { id: "a1", kind: "subagent", title: "" } as const;
const shell = { id: "b1", kind: "shell", title: "" } as const;
const endedWith = (...background: (typeof helper | typeof shell)[]): HookEvent => ({ type: "turn-ended", background });
const WAITS: ScreenView = { composer, background: [{ kind: "subagent", count: 1 }] };

table("what goes on behind a turn that has ended does not make it busy", [
  [
    "the file says busy for a sub-agent that the end of the turn told",
    { file: ["busy", 9000], hook: [endedWith(helper), 8000], screen: [IDLE, 8000] },
    "idle by hook (strong)",
  ],
  [
    "the file says busy, and the screen that it waits for sub-agents, which it counts",
    { file: ["busy", 9000], screen: [WAITS, 1500, 0] },
    "idle by screen (weak)",
  ],
  [
    "not when a mark of work is on the screen",
    { file: ["busy", 9000], hook: [endedWith(helper), 8000], screen: [BUSY, 100] },
    "busy by agent-file (strong)",
  ],
  [
    "not when a message was submitted since",
    { file: ["busy", 9000], hook: [endedWith(helper), 8000], screen: [IDLE, 8000], submittedAge: 3000 },
    "busy by agent-file (strong)",
  ],
  [
    "not when it took a prompt since",
    { file: ["busy", 9000], hook: ["prompt-submitted", 100], screen: [IDLE, 8000] },
    "busy by agent-file (strong)",
  ],
  [
    "not without a composer",
    { file: ["busy", 9000], hook: [endedWith(helper), 8000], screen: [UNKNOWN, 8000] },
    "busy by agent-file (strong)",
  ],
  [
    "not for shells: the file does not call them busy",
    { file: ["busy", 300], hook: [endedWith(shell), 400], screen: [IDLE, 300] },
    "busy by agent-file (strong)",
  ],
]);

table("after our own submit no older idle counts", [
  ["nothing else is known yet", { submittedAge: 100, screen: [IDLE, 9000] }, "busy by output (weak)"],
  [
    "the file's idle is older",
    { submittedAge: 100, screen: [IDLE, 9000], file: ["idle", 5000] },
    "busy by output (weak)",
  ],
  [
    "the end of a turn is older",
    { submittedAge: 100, screen: [IDLE, 9000], hook: ["turn-ended", 200] },
    "busy by output (weak)",
  ],
  [
    "the end of the turn came since",
    { submittedAge: 100, screen: [IDLE, 50], hook: ["turn-ended", 50] },
    "idle by hook (strong)",
  ],
  [
    "the file went idle since",
    { submittedAge: 1000, screen: [IDLE, 50], file: ["idle", 50] },
    "idle by agent-file (strong)",
  ],
  [
    "the file's older idle, while it may lag",
    { submittedAge: 1800, screen: [IDLE, 1800], file: ["idle", 5000] },
    "idle by screen (weak)",
  ],
  [
    "the file's older idle, after its lag",
    { submittedAge: 2001, screen: [IDLE, 2001], file: ["idle", 5000] },
    "idle by agent-file (strong)",
  ],
  [
    "the screen shows nothing for too short a time",
    { submittedAge: 1499, screen: [IDLE, 9000] },
    "busy by output (weak)",
  ],
  [
    "the screen shows an idle agent for long enough",
    { submittedAge: 1500, screen: [IDLE, 1500] },
    "idle by screen (weak)",
  ],
  [
    "a screen that changed after the submit counts from its change",
    { submittedAge: 1600, screen: [IDLE, 1000] },
    "uncertain by screen (weak)",
  ],
]);

table("idle", [
  ["by the end of the turn", { hook: ["turn-ended", 10], screen: [IDLE, 10] }, "idle by hook (strong)"],
  ["by the file", { file: ["idle", 10], screen: [IDLE, 10] }, "idle by agent-file (strong)"],
  ["by the screen after a while", { screen: [IDLE, 1500] }, "idle by screen (weak)"],
  [
    "not without a composer, whatever a hook says",
    { hook: ["turn-ended", 10], screen: [UNKNOWN, 9000] },
    "uncertain by output (weak)",
  ],
  [
    "not without a composer, whatever the file says",
    { file: ["idle", 9000], screen: [UNKNOWN, 9000] },
    "uncertain by output (weak)",
  ],
  ["not by the screen while anything moves", { screen: [IDLE, 9000, 1499] }, "uncertain by screen (weak)"],
  ["by the screen once all is still", { screen: [IDLE, 9000, 1500] }, "idle by screen (weak)"],
  [
    "by the screen long after a turn that an interrupt ended without a word",
    { hook: ["prompt-submitted", 60_000], screen: [IDLE, 5000] },
    "idle by screen (weak)",
  ],
  [
    "not by the screen before it has been still for that long after the last word of work",
    { hook: ["activity", 9000], screen: [IDLE, 9000, 4999] },
    "uncertain by screen (weak)",
  ],
  [
    "not by the screen while a hook says busy",
    { hook: ["prompt-submitted", 4999], screen: [IDLE, 4999] },
    "busy by hook (strong)",
  ],
]);

describe("an agent that shows no busy mark between two steps", () => {
  it.each([0, 160, 400, 900, 1499])("is not idle by the screen alone after %i ms", (ageMs) => {
    const verdict = verdictOf({ screen: [IDLE, ageMs] });
    expect(verdict.state).toBe("uncertain");
    expect(verdict.reconsiderAt).toBe(NOW - ageMs + 1500);
  });
});

table("a program of which nothing is known", [
  [
    "is never idle by its screen",
    { screen: [UNKNOWN, 99_000], proof: "silence", outputAge: 99_000 },
    "uncertain by output (weak)",
  ],
  [
    "not even if a composer could be seen",
    { screen: [IDLE, 99_000], proof: "silence", outputAge: 99_000 },
    "uncertain by output (weak)",
  ],
  [
    "is idle when it says so itself",
    { screen: [UNKNOWN, 99_000], proof: "silence", hook: ["turn-ended", 10] },
    "idle by hook (strong)",
  ],
  [
    "is busy when it says so itself",
    { screen: [UNKNOWN, 99_000], proof: "silence", hook: ["activity", 10] },
    "busy by hook (strong)",
  ],
  [
    "is busy for a moment after a message",
    { screen: [UNKNOWN, 9000], proof: "silence", submittedAge: 100 },
    "busy by output (weak)",
  ],
]);

table("stalled: busy without output for too long", [
  ["by the file", { file: ["busy", 900_000], outputAge: 600_000 }, "stalled by agent-file (strong)"],
  ["by the screen", { screen: [BUSY, 900_000], outputAge: 600_000 }, "stalled by screen (strong)"],
  ["not one millisecond earlier", { screen: [BUSY, 900_000], outputAge: 599_999 }, "busy by screen (strong)"],
  [
    "not while hooks report",
    { screen: [BUSY, 900_000], outputAge: 900_000, hook: ["activity", 5] },
    "busy by screen (strong)",
  ],
  [
    "not right after a message",
    { screen: [BUSY, 10], outputAge: 900_000, submittedAge: 10 },
    "busy by screen (strong)",
  ],
  [
    "never when idle",
    { file: ["idle", 900_000], screen: [IDLE, 900_000], outputAge: 900_000 },
    "idle by agent-file (strong)",
  ],
]);

describe("an agent that draws nothing after something was typed", () => {
  const idle = { screen: [IDLE, 60_000], hook: ["turn-ended", 60_000], file: ["idle", 60_000] } as const;
  it.each<[string, Seen, string]>([
    ["is idle still while an echo may come", { ...idle, typedAge: 400, outputAge: 1000 }, "idle"],
    ["is uncertain, whatever said idle before", { ...idle, typedAge: 600, outputAge: 1000 }, "uncertain"],
    ["is stalled in the end", { ...idle, typedAge: STALL_AFTER_MS, outputAge: STALL_AFTER_MS + 1 }, "stalled"],
    ["is idle again once it draws", { ...idle, typedAge: 5000, outputAge: 4000 }, "idle"],
    ["is busy when it was", { ...idle, file: ["busy", 60_000], typedAge: 600, outputAge: 1000 }, "busy"],
    ["waits in a dialog when it did", { screen: [DIALOG, 9000], typedAge: 600, outputAge: 1000 }, "dialog"],
  ])("%s", (_, seen, state) => {
    expect(verdictOf(seen).state).toBe(state);
  });

  it("is judged again when an echo is late, and when it becomes stalled", () => {
    expect(verdictOf({ ...idle, typedAge: 400, outputAge: 1000 }).reconsiderAt).toBe(NOW + 100);
    const late = verdictOf({ ...idle, typedAge: 600, outputAge: 1000 });
    expect(late).toMatchObject({ reconsiderAt: NOW - 600 + STALL_AFTER_MS, stallsAt: NOW - 600 + STALL_AFTER_MS });
    expect(late.evidence).toMatchObject([{ source: "output", confidence: "strong", ageMs: 600 }]);
  });
});

describe("when to judge again without a new signal", () => {
  it.each([
    ["when a waiting hook expires", { hook: ["waiting", 500], screen: [IDLE, 10] }, 1000],
    ["when a hook has been alone for too long", { hook: ["activity", 1000], screen: [IDLE, 10] }, 4000],
    ["when busy becomes stalled", { file: ["busy", 5], outputAge: 1000 }, 599_000],
    ["when a message has been submitted for a while", { submittedAge: 500, screen: [IDLE, 10] }, 1000],
    ["never, for idle", { file: ["idle", 10], screen: [IDLE, 10] }, undefined],
  ] as const satisfies readonly (readonly [string, Seen, number | undefined])[])("%s", (_, seen, inMs) => {
    const { reconsiderAt } = verdictOf(seen);
    expect(reconsiderAt === undefined ? undefined : reconsiderAt - NOW).toBe(inMs);
  });
});

it("tells how old its evidence is, in whole milliseconds, never less than 0", () => {
  expect(verdictOf({ file: ["busy", 1234.6] }).evidence[0]?.ageMs).toBe(1235);
  expect(verdictOf({ file: ["busy", -5] }).evidence[0]?.ageMs).toBe(0);
});
