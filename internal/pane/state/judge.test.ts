import { describe, expect, it } from "vitest";
import {
  BUSY_SCREEN,
  DIALOG_SCREEN,
  deadProcess,
  IDLE_SCREEN,
  type JudgeInput,
  NOW,
  PARKED_SCREEN,
  table,
  UNKNOWN_SCREEN,
  verdictOf,
} from "../../../test/support/pane/judge-table.ts";

table("the process comes first", [
  [
    "it has not been observed yet",
    { process: { type: "expected" }, screen: [IDLE_SCREEN, 9000] },
    "starting by process (weak)",
  ],
  ["it ended", { process: deadProcess(false), screen: [IDLE_SCREEN, 9000] }, "dead by process (proof)"],
  ["it will be started again", { process: deadProcess(true), file: ["busy", 0] }, "starting by process (proof)"],
  ["it keeps ending", { process: deadProcess(true, true) }, "crash-loop by process (proof)"],
  [
    "it was asked to stop",
    { process: { type: "stopping" }, screen: [DIALOG_SCREEN, 10] },
    "stopping by process (proof)",
  ],
]);

table("any source may report that a person is needed", [
  [
    "a dialog on the screen, whatever the file reports",
    { screen: [DIALOG_SCREEN, 10], file: ["idle", 50] },
    "dialog by screen (strong)",
  ],
  [
    "a dialog on the screen, whatever a hook reports",
    { screen: [DIALOG_SCREEN, 10], hook: ["turn-ended", 5] },
    "dialog by screen (strong)",
  ],
  ["a dialog at the very start", { screen: [DIALOG_SCREEN, 10], everReady: false }, "dialog by screen (strong)"],
  [
    "the file waits, whatever the screen shows",
    { screen: [IDLE_SCREEN, 9000], file: ["waiting", 10] },
    "dialog by agent-file (strong)",
  ],
  ["a fresh hook reports waiting", { screen: [IDLE_SCREEN, 9000], hook: ["waiting", 100] }, "dialog by hook (strong)"],
  [
    "a waiting hook just before it expires",
    { screen: [IDLE_SCREEN, 9000], hook: ["waiting", 1499] },
    "dialog by hook (strong)",
  ],
  [
    "a waiting hook that nothing else supports expires",
    { screen: [IDLE_SCREEN, 9000], hook: ["waiting", 1500] },
    "idle by screen (weak)",
  ],
  [
    "an expired waiting hook and a busy file",
    { screen: [IDLE_SCREEN, 9000], hook: ["waiting", 2000], file: ["busy", 100] },
    "busy by agent-file (strong)",
  ],
  ["a limit on the screen", { screen: [PARKED_SCREEN, 100], file: ["busy", 100] }, "parked by screen (strong)"],
  ["a dialog before a limit", { screen: [{ ...DIALOG_SCREEN, parked: "limit" }, 5] }, "dialog by screen (strong)"],
]);

table("starting until it has shown that it takes messages", [
  ["nothing seen", { everReady: false }, "starting by process (strong)"],
  ["a screen without a composer", { everReady: false, screen: [UNKNOWN_SCREEN, 9000] }, "starting by process (strong)"],
  [
    "a busy mark before the first composer",
    { everReady: false, screen: [{ busy: "x" }, 9] },
    "starting by process (strong)",
  ],
  ["a hook that reports work ends it", { everReady: false, hook: ["activity", 10] }, "busy by hook (strong)"],
  [
    "a hook that reports the start of a session does not end it at once",
    { everReady: false, hook: ["session-start", 9999], file: ["idle", 10], startedAge: 12_000 },
    "starting by process (strong)",
  ],
  [
    "a hook that reports the start of a session, without a composer ever",
    { everReady: false, hook: ["session-start", 10_000], startedAge: 12_000 },
    "uncertain by output (weak)",
  ],
  ["a state file ends it", { everReady: false, file: ["busy", 10] }, "busy by agent-file (strong)"],
  [
    "an unknown program, while it shows nothing",
    { everReady: false, screen: [UNKNOWN_SCREEN, 10], proof: "silence", startedAge: 4000 },
    "starting by process (strong)",
  ],
  [
    "an unknown program, for a limited time",
    { everReady: false, screen: [UNKNOWN_SCREEN, 10], proof: "silence", startedAge: 5000 },
    "uncertain by output (weak)",
  ],
]);

table("busy by any source", [
  ["the file", { file: ["busy", 10], screen: [IDLE_SCREEN, 9000] }, "busy by agent-file (strong)"],
  [
    "the file, although a hook reports the end of the turn",
    { file: ["busy", 10], hook: ["turn-ended", 300] },
    "busy by agent-file (strong)",
  ],
  [
    "the mark on the screen, although the file reports idle",
    { screen: [BUSY_SCREEN, 10], file: ["idle", 9000] },
    "busy by screen (strong)",
  ],
  [
    "the mark on the screen, although a hook reports the end of the turn",
    { screen: [BUSY_SCREEN, 10], hook: ["turn-ended", 50] },
    "busy by screen (strong)",
  ],
  [
    "a hook: it took a prompt",
    { hook: ["prompt-submitted", 10], screen: [IDLE_SCREEN, 9000] },
    "busy by hook (strong)",
  ],
  ["a hook: a tool runs", { hook: ["activity", 4000], screen: [IDLE_SCREEN, 3000] }, "busy by hook (strong)"],
  [
    "a hook, if the file's idle is older",
    { hook: ["prompt-submitted", 100], file: ["idle", 200], screen: [IDLE_SCREEN, 150] },
    "busy by hook (strong)",
  ],
  [
    "not a hook that the file has denied since",
    { hook: ["prompt-submitted", 900], file: ["idle", 300], screen: [IDLE_SCREEN, 300] },
    "idle by agent-file (strong)",
  ],
  [
    "not a hook that is the only source for five seconds",
    { hook: ["activity", 5000], screen: [IDLE_SCREEN, 4000] },
    "uncertain by screen (weak)",
  ],
  [
    "a hook that is the only source, while no composer is visible",
    { hook: ["activity", 5000], screen: [UNKNOWN_SCREEN, 4000] },
    "busy by hook (strong)",
  ],
  [
    "not a hook against a file that reports idle for five seconds after it",
    { hook: ["prompt-submitted", 5000], file: ["idle", 60_000], screen: [IDLE_SCREEN, 5000] },
    "idle by agent-file (strong)",
  ],
]);
describe("the time of the next judgement without a new signal", () => {
  it.each([
    ["when a waiting hook expires", { hook: ["waiting", 500], screen: [IDLE_SCREEN, 10] }, 1000],
    [
      "when a hook has been the only source for too long",
      { hook: ["activity", 1000], screen: [IDLE_SCREEN, 10] },
      4000,
    ],
    ["when busy becomes stalled", { file: ["busy", 5], outputAge: 1000 }, 599_000],
    ["when a message was submitted some time ago", { submittedAge: 500, screen: [IDLE_SCREEN, 10] }, 1000],
    ["never, for idle", { file: ["idle", 10], screen: [IDLE_SCREEN, 10] }, undefined],
  ] as const satisfies readonly (readonly [string, JudgeInput, number | undefined])[])("%s", (_, seen, inMs) => {
    const { reconsiderAt } = verdictOf(seen);
    expect(reconsiderAt === undefined ? undefined : reconsiderAt - NOW).toBe(inMs);
  });
});

it("reports the age of its evidence in whole milliseconds, never below 0", () => {
  expect(verdictOf({ file: ["busy", 1234.6] }).evidence[0]?.ageMs).toBe(1235);
  expect(verdictOf({ file: ["busy", -5] }).evidence[0]?.ageMs).toBe(0);
});
