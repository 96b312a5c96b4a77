import { describe, expect, it } from "vitest";
import type { NudgeReceipt } from "../../internal/session/types.ts";
import { agentCommand } from "./agent-command.ts";
import { readStartConfig } from "./config.ts";
import { shellPath } from "./gt-commands.ts";
import { receiptLine } from "./receipts.ts";
import { readLogLine } from "./sidecar-log.ts";

describe("paths that a shell in any folder understands", () => {
  it.each([
    ["/home/ann/gas/cmd/gt/gt", "/home/ann", "~/gas/cmd/gt/gt"],
    ["/srv/gas/cmd/gt/gt", "/home/ann", "/srv/gas/cmd/gt/gt"],
    ["/home/anna/gt", "/home/ann", "/home/anna/gt"],
    ["/home/ann/my code/gt", "/home/ann", "~/'my code/gt'"],
    ["/srv/it's/gt", undefined, "'/srv/it'\\''s/gt'"],
    ["/srv/gt", "/", "/srv/gt"],
  ])("%s with home %s: %s", (path, home, text) => {
    expect(shellPath(path, home)).toBe(text);
  });
});

describe("the sidecar's log", () => {
  it.each([
    ['{"level":30,"msg":"serving","listen":"127.0.0.1:9090"}', { type: "serving", listen: "127.0.0.1:9090" }],
    [
      '{"level":30,"msg":"nudge ended","request_id":"r","outcome":"submitted","sender":"me"}',
      { type: "nudge-ended", requestId: "r", sender: "me", outcome: "submitted" },
    ],
    ['{"level":50,"msg":"cannot","err":{"message":"no"}}', { type: "failure", text: "cannot: no" }],
    ["gt-sidecar: error: no such agent", { type: "failure", text: "gt-sidecar: error: no such agent" }],
    ['{"level":30,"msg":"else"}', undefined],
    ["null", undefined],
  ])("%s", (line, news) => {
    expect(readLogLine(line)).toEqual(news);
  });
});

it("writes a receipt on one line, safe to print", () => {
  const receipt: NudgeReceipt = {
    ...{ requestId: "r", outcome: "blocked-by-dialog", error: "a dialog\nis open\x1b[2J", sender: "ann" },
    ...{ queuePosition: 0, evidence: [], timings: { queuedMs: 3 } },
  };
  expect(receiptLine(receipt, 0)).toMatch(/^\d\d:\d\d:\d\d {2}BLOCKED BY DIALOG {2}from ann {2}a dialog is open$/);
});

describe("configuration", () => {
  it("starts the demo agent by default", () => {
    expect(readStartConfig([], {})).toEqual({
      agent: "demo",
      once: false,
      bridge: false,
      threads: false,
      relay: false,
      workdir: undefined,
    });
    expect(readStartConfig(["--agent", "claude"], { INIT_CWD: "/w" })).toMatchObject({
      agent: "claude",
      workdir: "/w",
    });
  });

  it.each([
    [["--agent", "vim"], '--agent is demo or claude, not "vim"'],
    [["--agent", "claude", "--once"], "--once works with the demo agent only"],
    [["--agent", "claude", "--bridge"], "--bridge works with the demo agent only"],
    [["hello"], 'unexpected argument "hello"'],
  ])("refuses %j", (argv, message) => {
    expect(() => readStartConfig(argv, {})).toThrow(message);
  });

  it("explains how to get Claude Code if it is not installed", () => {
    expect(() => agentCommand("claude", "/x", "/nowhere")).toThrow("Claude Code is not installed");
  });
});
