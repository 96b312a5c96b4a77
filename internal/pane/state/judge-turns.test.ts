import { describe, expect, it } from "vitest";
import {
  BUSY_SCREEN,
  composer,
  DIALOG_SCREEN,
  IDLE_SCREEN,
  type JudgeInput,
  NOW,
  STALL_AFTER_MS,
  table,
  UNKNOWN_SCREEN,
  verdictOf,
} from "../../../test/support/pane/judge-table.ts";
import type { HookEvent, ScreenView } from "../../agents/profile.ts";

const helper = { id: "a1", kind: "subagent", title: "" } as const;
const shell = { id: "b1", kind: "shell", title: "" } as const;
const endedWith = (...background: (typeof helper | typeof shell)[]): HookEvent => ({ type: "turn-ended", background });
const WAITS: ScreenView = { composer, background: [{ kind: "subagent", count: 1 }] };

table("work in the background of an ended turn does not count as busy", [
  [
    "if the file reports busy for a sub-agent that the end of the turn named",
    { file: ["busy", 9000], hook: [endedWith(helper), 8000], screen: [IDLE_SCREEN, 8000] },
    "idle by hook (strong)",
  ],
  [
    "if the file reports busy, and the screen counts the sub-agents that it waits for",
    { file: ["busy", 9000], screen: [WAITS, 1500, 0] },
    "idle by screen (weak)",
  ],
  [
    "unless the screen shows a sign of work",
    { file: ["busy", 9000], hook: [endedWith(helper), 8000], screen: [BUSY_SCREEN, 100] },
    "busy by agent-file (strong)",
  ],
  [
    "unless a message was submitted since",
    { file: ["busy", 9000], hook: [endedWith(helper), 8000], screen: [IDLE_SCREEN, 8000], submittedAge: 3000 },
    "busy by agent-file (strong)",
  ],
  [
    "unless the agent took a prompt since",
    { file: ["busy", 9000], hook: ["prompt-submitted", 100], screen: [IDLE_SCREEN, 8000] },
    "busy by agent-file (strong)",
  ],
  [
    "unless there is no composer",
    { file: ["busy", 9000], hook: [endedWith(helper), 8000], screen: [UNKNOWN_SCREEN, 8000] },
    "busy by agent-file (strong)",
  ],
  [
    "unless it is a shell, for which the file does not report busy",
    { file: ["busy", 300], hook: [endedWith(shell), 400], screen: [IDLE_SCREEN, 300] },
    "busy by agent-file (strong)",
  ],
]);

table("after our own submit an older idle does not count", [
  ["if nothing else is known yet", { submittedAge: 100, screen: [IDLE_SCREEN, 9000] }, "busy by output (weak)"],
  [
    "if the file's idle is older",
    { submittedAge: 100, screen: [IDLE_SCREEN, 9000], file: ["idle", 5000] },
    "busy by output (weak)",
  ],
  [
    "if the end of a turn is older",
    { submittedAge: 100, screen: [IDLE_SCREEN, 9000], hook: ["turn-ended", 200] },
    "busy by output (weak)",
  ],
  [
    "but the end of a turn since then does",
    { submittedAge: 100, screen: [IDLE_SCREEN, 50], hook: ["turn-ended", 50] },
    "idle by hook (strong)",
  ],
  [
    "but a file that became idle since then does",
    { submittedAge: 1000, screen: [IDLE_SCREEN, 50], file: ["idle", 50] },
    "idle by agent-file (strong)",
  ],
  [
    "from the file, while the file may lag",
    { submittedAge: 1800, screen: [IDLE_SCREEN, 1800], file: ["idle", 5000] },
    "idle by screen (weak)",
  ],
  [
    "but the file's does after its lag",
    { submittedAge: 2001, screen: [IDLE_SCREEN, 2001], file: ["idle", 5000] },
    "idle by agent-file (strong)",
  ],
  [
    "if the screen is unchanged for too short a time",
    { submittedAge: 1499, screen: [IDLE_SCREEN, 9000] },
    "busy by output (weak)",
  ],
  [
    "but a screen that shows an idle agent for long enough does",
    { submittedAge: 1500, screen: [IDLE_SCREEN, 1500] },
    "idle by screen (weak)",
  ],
  [
    "and a screen that changed after the submit counts from its change",
    { submittedAge: 1600, screen: [IDLE_SCREEN, 1000] },
    "uncertain by screen (weak)",
  ],
]);

table("idle", [
  ["by the end of the turn", { hook: ["turn-ended", 10], screen: [IDLE_SCREEN, 10] }, "idle by hook (strong)"],
  ["by the file", { file: ["idle", 10], screen: [IDLE_SCREEN, 10] }, "idle by agent-file (strong)"],
  ["by the screen after a while", { screen: [IDLE_SCREEN, 1500] }, "idle by screen (weak)"],
  [
    "not without a composer, whatever a hook reports",
    { hook: ["turn-ended", 10], screen: [UNKNOWN_SCREEN, 9000] },
    "uncertain by output (weak)",
  ],
  [
    "not without a composer, whatever the file reports",
    { file: ["idle", 9000], screen: [UNKNOWN_SCREEN, 9000] },
    "uncertain by output (weak)",
  ],
  ["not by the screen while anything moves on it", { screen: [IDLE_SCREEN, 9000, 1499] }, "uncertain by screen (weak)"],
  ["by the screen once all is still", { screen: [IDLE_SCREEN, 9000, 1500] }, "idle by screen (weak)"],
  [
    "by the screen long after a turn that an interrupt ended without a hook",
    { hook: ["prompt-submitted", 60_000], screen: [IDLE_SCREEN, 5000] },
    "idle by screen (weak)",
  ],
  [
    "not by the screen before it has been still for five seconds after the last report of work",
    { hook: ["activity", 9000], screen: [IDLE_SCREEN, 9000, 4999] },
    "uncertain by screen (weak)",
  ],
  [
    "not by the screen while a hook reports busy",
    { hook: ["prompt-submitted", 4999], screen: [IDLE_SCREEN, 4999] },
    "busy by hook (strong)",
  ],
]);

describe("an agent that shows no busy mark between two steps", () => {
  it.each([0, 160, 400, 900, 1499])("is not idle by the screen alone after %i ms", (ageMs) => {
    const verdict = verdictOf({ screen: [IDLE_SCREEN, ageMs] });
    expect(verdict.state).toBe("uncertain");
    expect(verdict.reconsiderAt).toBe(NOW - ageMs + 1500);
  });
});

table("an unknown program", [
  [
    "is never idle by its screen",
    { screen: [UNKNOWN_SCREEN, 99_000], proof: "silence", outputAge: 99_000 },
    "uncertain by output (weak)",
  ],
  [
    "is not idle by a visible composer either",
    { screen: [IDLE_SCREEN, 99_000], proof: "silence", outputAge: 99_000 },
    "uncertain by output (weak)",
  ],
  [
    "is idle if it reports that itself",
    { screen: [UNKNOWN_SCREEN, 99_000], proof: "silence", hook: ["turn-ended", 10] },
    "idle by hook (strong)",
  ],
  [
    "is busy if it reports that itself",
    { screen: [UNKNOWN_SCREEN, 99_000], proof: "silence", hook: ["activity", 10] },
    "busy by hook (strong)",
  ],
  [
    "is busy for a moment after a message",
    { screen: [UNKNOWN_SCREEN, 9000], proof: "silence", submittedAge: 100 },
    "busy by output (weak)",
  ],
]);

table("stalled: busy without output for too long", [
  ["by the file", { file: ["busy", 900_000], outputAge: 600_000 }, "stalled by agent-file (strong)"],
  ["by the screen", { screen: [BUSY_SCREEN, 900_000], outputAge: 600_000 }, "stalled by screen (strong)"],
  ["not one millisecond earlier", { screen: [BUSY_SCREEN, 900_000], outputAge: 599_999 }, "busy by screen (strong)"],
  [
    "not while hooks report",
    { screen: [BUSY_SCREEN, 900_000], outputAge: 900_000, hook: ["activity", 5] },
    "busy by screen (strong)",
  ],
  [
    "not right after a message",
    { screen: [BUSY_SCREEN, 10], outputAge: 900_000, submittedAge: 10 },
    "busy by screen (strong)",
  ],
  [
    "never when idle",
    { file: ["idle", 900_000], screen: [IDLE_SCREEN, 900_000], outputAge: 900_000 },
    "idle by agent-file (strong)",
  ],
]);

describe("an agent that draws nothing after text was typed", () => {
  const idle = { screen: [IDLE_SCREEN, 60_000], hook: ["turn-ended", 60_000], file: ["idle", 60_000] } as const;
  it.each<[string, JudgeInput, string]>([
    ["is still idle while an echo may come", { ...idle, typedAge: 400, outputAge: 1000 }, "idle"],
    ["is uncertain, whatever reported idle before", { ...idle, typedAge: 600, outputAge: 1000 }, "uncertain"],
    ["is finally stalled", { ...idle, typedAge: STALL_AFTER_MS, outputAge: STALL_AFTER_MS + 1 }, "stalled"],
    ["is idle again once it draws", { ...idle, typedAge: 5000, outputAge: 4000 }, "idle"],
    ["stays busy", { ...idle, file: ["busy", 60_000], typedAge: 600, outputAge: 1000 }, "busy"],
    ["stays in a dialog", { screen: [DIALOG_SCREEN, 9000], typedAge: 600, outputAge: 1000 }, "dialog"],
  ])("%s", (_, seen, state) => {
    expect(verdictOf(seen).state).toBe(state);
  });

  it("is judged again when the echo is late, and when it becomes stalled", () => {
    expect(verdictOf({ ...idle, typedAge: 400, outputAge: 1000 }).reconsiderAt).toBe(NOW + 100);
    const late = verdictOf({ ...idle, typedAge: 600, outputAge: 1000 });
    expect(late).toMatchObject({ reconsiderAt: NOW - 600 + STALL_AFTER_MS, stallsAt: NOW - 600 + STALL_AFTER_MS });
    expect(late.evidence).toMatchObject([{ source: "output", confidence: "strong", ageMs: 600 }]);
  });
});
