import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { AgentState, NudgeOutcome } from "../gen/gastown/v1/common_pb.ts";
import {
  NudgeMode,
  NudgePriority,
  SidecarNudgeRequestSchema,
  SidecarNudgeResponseSchema,
  SidecarOutputUpdateSchema,
  SidecarStatusResponseSchema,
  SidecarWatchRequestSchema,
  UpdateKind,
  WatchMode,
} from "../gen/gastown/v1/sidecar_pb.ts";
import type * as pane from "../session/types.ts";
import { nudgeRequestOf, nudgeResponse } from "./nudge.ts";
import { statusResponse } from "./status.ts";
import { outputUpdate, peekResponse, watchRequestOf } from "./watch.ts";

const receipt: pane.NudgeReceipt = {
  requestId: "r",
  outcome: "submitted",
  error: "",
  sender: "s",
  queuePosition: 0,
  evidence: [{ source: "hook", value: "took it", ageMs: 3, confidence: "proof" }],
  timings: { queuedMs: 1, typedMs: 2 },
};

const status: pane.PaneStatus = {
  alive: true,
  state: "idle",
  stateSince: 1000,
  evidence: [],
  agentPid: 5,
  restarts: 0,
  uptimeSeconds: 7,
  queueDepth: 0,
  attached: 0,
  epoch: "e",
  cols: 80,
  rows: 24,
  draft: false,
  background: [],
  versions: { tmux: "3.3a" },
};
const identity = { sessionId: "s", project: "p", address: "rig/name" };
const statusOf = (part: Partial<pane.PaneStatus>) =>
  create(SidecarStatusResponseSchema, statusResponse({ ...status, ...part }, identity, "demo"));

/** `blocked-by-dialog` → `BLOCKED_BY_DIALOG`. */
const wireName = (word: string) => word.toUpperCase().replaceAll("-", "_");

describe("every word has its value on the wire", () => {
  it.each([
    "submitted",
    "queued",
    "stranded",
    "unknown",
    "blocked-by-dialog",
    "composer-busy",
    "agent-dead",
    "expired",
    "unsafe",
    "cancelled",
  ] as const)("outcome %s", (outcome) => {
    const { outcome: value, delivered } = nudgeResponse({ ...receipt, outcome });
    expect(value).toBe(NudgeOutcome[wireName(outcome) as keyof typeof NudgeOutcome]);
    expect(value).toBeGreaterThan(0);
    expect(delivered).toBe(outcome === "submitted");
  });

  it.each([
    ["starting", "starting"],
    ["idle", "idle"],
    ["busy", "running"],
    ["uncertain", "running"],
    ["dialog", "stuck"],
    ["parked", "stuck"],
    ["stopping", "stuck"],
    ["dead", "stuck"],
    ["crash-loop", "stuck"],
    ["stalled", "stuck"],
  ] as const)("state %s, which is the phase %s", (state, phase) => {
    const told = statusOf({ state });
    expect([told.state, told.agentPhase]).toEqual([AgentState[wireName(state) as keyof typeof AgentState], phase]);
    expect(told.state).toBeGreaterThan(0);
  });

  it.each(["trust", "theme", "login", "permission", "plan", "question", "picker", "limit", "other"] as const)(
    "dialog %s",
    (kind) => {
      const dialog = {
        id: "d",
        kind,
        title: "t",
        text: "x",
        choices: [{ key: "1", label: "Yes", selected: true }],
        since: 5,
      };
      expect(statusOf({ dialog }).dialog).toMatchObject({
        id: "d",
        choices: [{ key: "1", label: "Yes", selected: true }],
      });
      expect(statusOf({ dialog }).dialog?.kind).toBeGreaterThan(0);
    },
  );

  it.each(["snapshot", "change", "heartbeat", "end"] as const)("update %s", (kind) => {
    expect(updateOf({ kind }).kind).toBe(UpdateKind[wireName(kind) as keyof typeof UpdateKind]);
  });

  it.each([
    ["slow-reader", 1],
    ["evicted", 2],
    ["restart", 3],
    ["truncated", 4],
  ] as const)("gap %s", (reason, value) => {
    expect(updateOf({ gap: { first: 1n, to: 2n, reason } }).gap).toMatchObject({ first: 1n, to: 2n, reason: value });
  });

  it.each([
    ["proof", 1],
    ["strong", 2],
    ["weak", 3],
  ] as const)("confidence %s", (confidence, value) => {
    const evidence = [{ source: "screen", value: "v", ageMs: 9, confidence }] as const;
    expect(statusOf({ evidence }).evidence[0]).toMatchObject({
      source: "screen",
      value: "v",
      ageMs: 9n,
      confidence: value,
    });
  });

  it.each([
    [NudgeMode.UNSPECIFIED, "wait-idle"],
    [NudgeMode.WAIT_IDLE, "wait-idle"],
    [NudgeMode.IMMEDIATE, "immediate"],
    [NudgeMode.QUEUE, "queue"],
  ])("mode %i is %s", (mode, word) => {
    expect(nudgeRequestOf(create(SidecarNudgeRequestSchema, { mode }), { sender: "me" }).mode).toBe(word);
  });
});

it.each([{ mode: 99 as NudgeMode }, { priority: 7 as NudgePriority }])("refuses the unknown value %j", (part) => {
  const request = create(SidecarNudgeRequestSchema, part);
  expect(() => nudgeRequestOf(request, { sender: "me" })).toThrow(expect.objectContaining({ kind: "invalid" }));
});

function updateOf(part: Partial<pane.WatchUpdate>) {
  const update: pane.WatchUpdate = {
    kind: "change",
    output: "text",
    data: new Uint8Array([1]),
    alive: true,
    timestamp: 0,
    epoch: "e",
    offset: 7n,
    cols: 80,
    rows: 24,
    alternateScreen: false,
    cursorX: 1,
    cursorY: 2,
    endReason: "",
    ...part,
  };
  return create(SidecarOutputUpdateSchema, outputUpdate(update));
}

it("writes a receipt", () => {
  const told = create(SidecarNudgeResponseSchema, nudgeResponse({ ...receipt, deliveredText: "typed" }));
  expect(told).toMatchObject({ requestId: "r", deliveredText: "typed", error: "", queuePosition: 0 });
  expect(told.timings).toMatchObject({ queuedMs: 1n, typedMs: 2n, submittedMs: 0n, confirmedMs: 0n });
});

it("writes a step within the first millisecond as 1, because 0 means that it was not reached", () => {
  const timings = { queuedMs: 0, typedMs: 0, submittedMs: 150 };
  const told = create(SidecarNudgeResponseSchema, nudgeResponse({ ...receipt, timings }));
  expect(told.timings).toMatchObject({ queuedMs: 1n, typedMs: 1n, submittedMs: 150n, confirmedMs: 0n });
});

it("reads a nudge's request, with the sender that the server knows", () => {
  const request = create(SidecarNudgeRequestSchema, {
    message: "m",
    requestId: "r",
    timeoutMs: 5n,
    ttlMs: 6n,
    quietMs: 7n,
    sender: "claimed",
    priority: NudgePriority.URGENT,
  });
  expect(nudgeRequestOf(request, { sender: "known", owner: "known" })).toEqual({
    message: "m",
    requestId: "r",
    mode: "wait-idle",
    timeoutMs: 5,
    ttlMs: 6,
    sender: "known",
    owner: "known",
    priority: "urgent",
    quietMs: 7,
  });
});

it("writes the identity with a status, and omits absent fields", () => {
  const told = statusOf({});
  expect(told).toMatchObject({ agent: "rig/name", sessionId: "s", projectId: "p", provider: "demo", lastOutputAt: "" });
  expect([told.exitCode, told.dialog, told.versions]).toEqual([undefined, undefined, { tmux: "3.3a" }]);
  expect(statusOf({ exitCode: 0, lastOutputAt: 1_000_123 })).toMatchObject({
    exitCode: 0,
    lastOutputAt: "1970-01-01T00:16:40.123Z",
  });
});

it("reads a watch's request, including an offset of 0", () => {
  const raw = create(SidecarWatchRequestSchema, { mode: WatchMode.RAW, epoch: "e", afterOffset: 0n });
  expect(watchRequestOf(raw)).toMatchObject({ mode: "raw", epoch: "e", afterOffset: 0n });
  expect(watchRequestOf(create(SidecarWatchRequestSchema, {}))).toEqual({
    mode: "screen",
    lines: 0,
    intervalMs: 0,
    ansi: false,
    epoch: "",
  });
});

it("refuses an unknown mode of a watch", () => {
  const request = create(SidecarWatchRequestSchema, { mode: 7 as WatchMode });
  expect(() => watchRequestOf(request)).toThrow("mode has no value 7");
});

it("writes a peek", () => {
  const result: pane.PeekResult = {
    output: "x",
    alive: false,
    truncated: true,
    alternateScreen: true,
    cols: 1,
    rows: 2,
    cursorX: 3,
    cursorY: 4,
    epoch: "e",
    offset: 5n,
    historyLines: 6,
  };
  const { alive, ...same } = result;
  expect(peekResponse(result)).toEqual({ ...same, sessionAlive: alive });
});
