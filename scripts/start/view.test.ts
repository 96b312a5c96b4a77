import { describe, expect, it } from "vitest";
import { textWidth } from "../../internal/base/text-width.ts";
import type { AgentStatus } from "../../internal/session/agent-status.ts";
import { gtCommands } from "./gt-commands.ts";
import { renderView, screenSize, type ViewModel } from "./view.ts";

const NOW = 1_700_000_000_000;
const status: AgentStatus = {
  ...{ agent: "demo", sessionId: "s", projectId: "p", provider: "demo", alive: true, state: "busy", agentPid: 42 },
  ...{ stateSince: NOW - 5000, restarts: 0, uptimeSeconds: 187, queueDepth: 0, attached: 0, epoch: "e", cols: 80 },
  ...{ rows: 24, draft: false, background: [], versions: {} },
  evidence: [{ source: "hook", value: "the agent accepted a message", ageMs: 5, confidence: "proof" }],
};

function model(more: Partial<ViewModel> = {}): ViewModel {
  return {
    ...{ columns: 80, rows: 24, colour: false, address: "demo", listen: "127.0.0.1:9090", status, trouble: "" },
    ...{ screen: ["one", "two"], receipts: [], commands: gtCommands("~/x/cmd/gt/gt", "demo"), now: NOW },
    ...more,
  };
}

describe("the live view", () => {
  it("shows agent, state and evidence, the screen, and commands to type", () => {
    expect(renderView(model())).toEqual([
      " demo  busy for 5.0 s  up 3 min 7 s · 127.0.0.1:9090 · pid 42",
      " known from: the agent accepted a message (hook, proof)",
      `╭${"─".repeat(78)}╮`,
      `│ one${" ".repeat(74)}│`,
      `│ two${" ".repeat(74)}│`,
      ...Array.from({ length: 8 }, () => `│${" ".repeat(78)}│`),
      `╰${"─".repeat(78)}╯`,
      " Receipts",
      "   none yet: the first nudge shows up here",
      " In another terminal",
      "   ~/x/cmd/gt/gt peek demo           see its screen",
      '   ~/x/cmd/gt/gt nudge demo "hello"  send it a message',
      "   ~/x/cmd/gt/gt status demo         what it does, and how we know",
      "   ~/x/cmd/gt/gt watch demo          follow it live",
      "   ~/x/cmd/gt/gt attach demo         use its terminal as yours; Ctrl-] leaves",
      "   ~/x/cmd/gt/gt respond demo        show its dialog and answer it",
      " q quits",
    ]);
  });

  it.each([
    [80, 24],
    [40, 12],
    [200, 60],
    [10, 3],
    [1, 1],
  ])("fits a window of %d by %d", (columns, rows) => {
    const screen = Array.from({ length: 90 }, () => "日本語 ".repeat(60));
    const receipts = Array.from({ length: 9 }, (_, at) => `receipt ${at} ${"x".repeat(300)}`);
    const lines = renderView(model({ columns, rows, screen, receipts }));
    expect(lines.length).toBeLessThanOrEqual(rows);
    for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(columns);
  });

  it("keeps the end of a long screen and the newest receipts", () => {
    const screen = Array.from({ length: 90 }, (_, row) => `row ${row}`);
    const lines = renderView(model({ screen, receipts: ["r1", "r2", "r3", "r4"] })).map((line) => line.trim());
    expect(lines.some((line) => line.startsWith("│ row 89 "))).toBe(true);
    expect(lines).toContain("r4");
    expect(lines).not.toContain("r1");
  });

  it("explains why nothing is fresh", () => {
    expect(renderView(model({ trouble: "no answer from the sidecar: gone" }))[1]).toBe(
      " no answer from the sidecar: gone",
    );
  });
});

it("gives the agent a screen that fits the box", () => {
  expect(screenSize(80, 40)).toEqual({ cols: 76, rows: 23 });
  expect(screenSize(30, 10)).toEqual({ cols: 40, rows: 10 });
  expect(screenSize(300, 120)).toEqual({ cols: 160, rows: 50 });
});
