import { describe, expect, it } from "vitest";
import { type PrintableText, printable } from "../../../internal/base/printable-text.ts";
import type { AgentStatus } from "../../../internal/session/agent-status.ts";
import type { StatusRow } from "../common/text/status-text.ts";
import { statusTable } from "./status-table.ts";

const NOW = 1_800_000_000_000;
const plain = (_: string, text: string | PrintableText) => printable`${text}`;

function row(agent: string, change: Partial<AgentStatus> = {}): StatusRow {
  const status: AgentStatus = {
    alive: true,
    state: "idle",
    stateSince: NOW - 192_000,
    evidence: [],
    agentPid: 77,
    restarts: 0,
    uptimeSeconds: 700,
    lastOutputAt: NOW - 3000,
    queueDepth: 0,
    attached: 0,
    epoch: "e",
    cols: 160,
    rows: 50,
    draft: false,
    background: [],
    versions: {},
    agent,
    sessionId: "s",
    projectId: "default",
    provider: "demo",
    ...change,
  };
  return { type: "status", agent, where: "127.0.0.1:9090", status };
}

const dialog = {
  id: "d",
  kind: "permission",
  title: "Run the shell command?",
  text: "",
  choices: [],
  since: NOW,
} as const;
const many: readonly StatusRow[] = [
  row("gastown/polecats/toast", { queueDepth: 2, draft: true }),
  row("gastown/witness", { state: "dialog", dialog, stateSince: NOW - 4200 }),
  row("mayor", { state: "busy", stateSince: NOW - 7_800_000 }),
  row("deacon", { state: "dead", alive: false, exitCode: 3 }),
  {
    type: "failed",
    agent: "gastown/crew/ann",
    where: "10.0.0.7:9090",
    reason: "cannot be reached: connection refused",
  },
];

describe("the table of many agents", () => {
  it("has a line for each agent, with what each waits for if there is room", () => {
    expect(String(statusTable(many, NOW, 140, plain))).toBe(`\
AGENT                   STATE        FOR    QUEUE  WAITS FOR                              PRINTED  WHERE
gastown/polecats/toast  idle         3 min  2      a person's draft                       3 s ago  127.0.0.1:9090
gastown/witness         dialog       4 s           permission: Run the shell command?     3 s ago  127.0.0.1:9090
mayor                   busy         2 h                                                  3 s ago  127.0.0.1:9090
deacon                  dead         3 min         nothing: exit code 3                   3 s ago  127.0.0.1:9090
gastown/crew/ann        unreachable                cannot be reached: connection refused           10.0.0.7:9090
5 agents: 1 idle, 1 dialog, 1 busy, 1 dead, 1 unreachable`);
  });

  it("drops the least useful columns before it cuts a line", () => {
    const narrow = String(statusTable(many, NOW, 80, plain)).split("\n");
    expect(narrow[0]).toBe("AGENT                   STATE        FOR    QUEUE  WAITS FOR");
    expect(narrow[2]).toBe("gastown/witness         dialog       4 s           permission: Run the shell co…");
    expect(Math.max(...narrow.map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it("has no column that is empty for every agent", () => {
    expect(String(statusTable([row("toast"), row("nux")], NOW, 80, plain))).toBe(`\
AGENT  STATE  FOR    PRINTED  WHERE
toast  idle   3 min  3 s ago  127.0.0.1:9090
nux    idle   3 min  3 s ago  127.0.0.1:9090
2 agents: 2 idle`);
  });

  it("colours the states, also after a name of wide characters", () => {
    const paint = (style: string, text: string | PrintableText) => printable`<${style}>${text}</>`;
    const [, line] = String(statusTable([row("日本語", { state: "stalled" })], NOW, 80, paint)).split("\n");
    expect(line).toContain("日本語  <red>stalled</>");
  });

  it("passes on no control sequence of an agent's dialog or name", () => {
    const hostile = { ...dialog, title: "rm\x1b[2J\n\nx" };
    const table = String(statusTable([row("a\x1b]0;t\x07b", { state: "dialog", dialog: hostile })], NOW, 100, plain));
    expect(table.split("\n")).toHaveLength(2);
    expect(table.replaceAll("\n", "")).not.toMatch(/[\x00-\x1f]/);
  });
});
