import { describe, expect, it } from "vitest";
import { type PrintableText, printable } from "../../../../internal/base/printable-text.ts";
import { durationText, ordinal } from "../../../../internal/cli/wording.ts";
import type { AgentStatus } from "../../../../internal/session/agent-status.ts";
import type { NudgeOutcome, NudgeReceipt } from "../../../../internal/session/types.ts";
import { readPlace } from "../../../../internal/terminal/places/place-config.ts";
import { receiptJson, receiptText } from "./receipt-text.ts";
import { type StatusRow, statusBlock, statusJson } from "./status-text.ts";

function receipt(change: Partial<NudgeReceipt>): NudgeReceipt {
  return {
    requestId: "r1",
    outcome: "submitted",
    error: "",
    sender: "me",
    queuePosition: 0,
    evidence: [],
    timings: {},
    ...change,
  };
}

const TOAST = {
  agent: "toast",
  line: (...words: readonly string[]) => ["gt", words[0], "toast", ...words.slice(1), "--port", "9"].join(" "),
  hasQueue: true,
};

describe("a receipt", () => {
  it("repeats the flags in use in its hint, and suggests no mode that the place refuses", () => {
    const blocked = (hasQueue: boolean) => receiptText(receipt({ outcome: "composer-busy" }), { ...TOAST, hasQueue });
    expect(blocked(true).hint).toBe(
      "send or clear that text first; or send it with --mode queue, to be typed afterwards; gt peek toast --port 9 shows the screen",
    );
    expect(blocked(false).hint).toBe("send or clear that text first; gt peek toast --port 9 shows the screen");
    expect(receiptText(receipt({ outcome: "queued" }), TOAST).hint).toContain("gt receipt toast r1 --port 9 shows");
  });

  it("says that the text was submitted, how long that took and which evidence proves it", () => {
    const evidence = [{ source: "hook", value: "prompt submitted", ageMs: 3, confidence: "proof" }] as const;
    const text = receiptText(receipt({ evidence, timings: { typedMs: 20, confirmedMs: 142 } }), TOAST);
    expect(text).toEqual({
      exitCode: 0,
      tone: "done",
      headline: "submitted to toast in 142 ms",
      details: ["proof: prompt submitted (hook, 3 ms old)"],
      hint: "",
    });
  });

  it.each<[NudgeOutcome, number, string]>([
    ["queued", 5, "queued for toast, 2nd in line: the agent is busy"],
    ["blocked-by-dialog", 6, "not delivered to toast: the agent is busy"],
    ["composer-busy", 6, "not delivered to toast: the agent is busy"],
    ["agent-dead", 6, "not delivered to toast: the agent is busy"],
    ["expired", 6, "not delivered to toast: the agent is busy"],
    ["unsafe", 6, "not delivered to toast: the agent is busy"],
    ["cancelled", 6, "not delivered to toast: the agent is busy"],
    ["stranded", 7, "typed into toast but not submitted: the agent is busy"],
    ["unknown", 7, "typed into toast, but nothing proves that it was submitted: the agent is busy"],
  ])("%s leaves with %d", (outcome, exitCode, headline) => {
    const text = receiptText(receipt({ outcome, error: "the agent is busy", queuePosition: 2 }), TOAST);
    expect([text.exitCode, text.headline]).toEqual([exitCode, headline]);
    expect(receiptText(receipt({ outcome }), TOAST).headline).not.toMatch(/undefined|: $/);
  });

  it("shows what was typed instead, without escape sequences", () => {
    const text = receiptText(receipt({ deliveredText: "a\x1b[2Jb\n", error: "x\x1b[31m\ny", outcome: "unknown" }), {
      ...TOAST,
      agent: "to\x1b[Hast",
    });
    expect(text.headline).toBe("typed into toast, but nothing proves that it was submitted: x y");
    expect(text.details).toEqual(['typed as: "ab\\n"']);
  });

  it("is complete in JSON", () => {
    const json = receiptJson(receipt({ outcome: "blocked-by-dialog", timings: { queuedMs: 1 } }), "toast", "here");
    expect(json).toMatchObject({
      agent: "toast",
      where: "here",
      outcome: "blocked_by_dialog",
      delivered: false,
      request_id: "r1",
    });
    expect(json["timings"]).toMatchObject({ queued_ms: 1 });
  });
});

const NOW = 1_000_000;
const asked = { agent: "toast", place: readPlace({ port: 9090 }, {}) };
const status: AgentStatus = {
  alive: true,
  state: "idle",
  stateSince: NOW - 192_000,
  evidence: [{ source: "hook", value: "turn ended", ageMs: 3200, confidence: "proof" }],
  agentPid: 77,
  restarts: 1,
  uptimeSeconds: 720,
  lastOutputAt: NOW - 3000,
  queueDepth: 2,
  attached: 0,
  epoch: "e",
  cols: 160,
  rows: 50,
  draft: false,
  background: [],
  versions: { tmux: "3.3a" },
  agent: "toast",
  sessionId: "s1",
  projectId: "default",
  provider: "demo",
};
const plain = (_: string, text: string | PrintableText) => printable`${text}`;

function row(change: Partial<AgentStatus> = {}): StatusRow & { type: "status" } {
  return { type: "status", agent: "gastown/polecats/toast", where: "127.0.0.1:9090", status: { ...status, ...change } };
}

describe("a status", () => {
  it("shows one agent on a few lines", () => {
    expect(String(statusBlock(row(), NOW, plain, asked))).toBe(`gastown/polecats/toast  idle for 3 min 12 s
  process     pid 77, up 12 min, 1 restart
  last output 3.0 s ago
  queue       2 waiting
  terminal    160x50
  evidence    turn ended (hook, proof, 3.2 s old)
  where       127.0.0.1:9090, demo, session s1, project default
  versions    tmux 3.3a`);
  });

  it("lists what runs in the background of an idle agent", () => {
    const since = NOW - 3000;
    const background = [
      { id: "b1", kind: "shell", title: "npm run dev\x1b[2J\n", since },
      { id: "shell-2", kind: "shell", title: "", since },
    ] as const;
    const lines = String(statusBlock(row({ background }), NOW, plain, asked)).split("\n");
    expect(lines[0]).toBe("gastown/polecats/toast  idle, 2 in the background, for 3 min 12 s");
    expect(lines).toContain("  background  shell: npm run dev (for 3.0 s)");
    expect(lines).toContain("              shell (for 3.0 s)");
    const told = { kind: "shell", since: "1970-01-01T00:16:37.000Z" };
    expect(statusJson(row({ background }))["background"]).toMatchObject([told, { ...told, title: "" }]);
  });

  it("shows the waiting dialog, cleaned, with the commands that answer it", () => {
    const dialog = {
      id: "d",
      kind: "permission",
      title: "Bash command",
      text: "rm -rf /tmp/x\x1b[2J\n\nProceed?",
      choices: [
        { key: "1", label: "Yes", selected: true },
        { key: "2", label: "No", selected: false },
      ],
      since: NOW,
    } as const;
    expect(
      String(statusBlock(row({ state: "dialog", dialog }), NOW, plain, asked)),
    ).toContain(`  dialog      permission: Bash command
              rm -rf /tmp/x
              Proceed?
              > 1. Yes   gt respond toast 1 --port 9090
                2. No    gt respond toast 2 --port 9090
`);
  });

  it("says how a dead agent ended", () => {
    expect(String(statusBlock(row({ alive: false, state: "dead", exitCode: 3 }), NOW, plain, asked))).toContain(
      "process     ended with exit code 3, 1 restart",
    );
  });

  it("is complete in JSON", () => {
    expect(statusJson(row({ state: "crash-loop" }))).toMatchObject({
      state: "crash_loop",
      agent_pid: 77,
      queue_depth: 2,
      reachable: true,
    });
  });
});

it.each([
  [0, "0 ms"],
  [999, "999 ms"],
  [3249, "3.2 s"],
  [59_999, "59 s"],
  [60_000, "1 min"],
  [192_000, "3 min 12 s"],
  [7_800_000, "2 h 10 min"],
  [273_600_000, "3 d 4 h"],
  [-5, "0 ms"],
])("%d ms read %s", (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

it.each([
  [1, "1st"],
  [2, "2nd"],
  [3, "3rd"],
  [4, "4th"],
  [11, "11th"],
  [112, "112th"],
  [21, "21st"],
])("%d is the %s", (n, text) => {
  expect(ordinal(n)).toBe(text);
});
