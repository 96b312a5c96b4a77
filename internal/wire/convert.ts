import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import * as common from "../gen/gastown/v1/common_pb.ts";
import * as pb from "../gen/gastown/v1/sidecar_pb.ts";
import type { AgentStatus } from "../session/agent-status.ts";
import type * as pane from "../session/types.ts";

/**
 * Between the sidecar's messages and our own types. A value that a newer sidecar sends and we do not know becomes the
 * most careful one.
 */

const OUTCOMES: Readonly<Record<number, pane.NudgeOutcome>> = {
  [common.NudgeOutcome.SUBMITTED]: "submitted",
  [common.NudgeOutcome.QUEUED]: "queued",
  [common.NudgeOutcome.STRANDED]: "stranded",
  [common.NudgeOutcome.BLOCKED_BY_DIALOG]: "blocked-by-dialog",
  [common.NudgeOutcome.COMPOSER_BUSY]: "composer-busy",
  [common.NudgeOutcome.AGENT_DEAD]: "agent-dead",
  [common.NudgeOutcome.EXPIRED]: "expired",
  [common.NudgeOutcome.UNKNOWN]: "unknown",
  [common.NudgeOutcome.UNSAFE]: "unsafe",
  [common.NudgeOutcome.CANCELLED]: "cancelled",
};

const STATES: Readonly<Record<number, pane.AgentStateName>> = {
  [common.AgentState.STARTING]: "starting",
  [common.AgentState.IDLE]: "idle",
  [common.AgentState.BUSY]: "busy",
  [common.AgentState.DIALOG]: "dialog",
  [common.AgentState.PARKED]: "parked",
  [common.AgentState.STOPPING]: "stopping",
  [common.AgentState.DEAD]: "dead",
  [common.AgentState.CRASH_LOOP]: "crash-loop",
  [common.AgentState.STALLED]: "stalled",
  [common.AgentState.UNCERTAIN]: "uncertain",
};

const DIALOGS: Readonly<Record<number, pane.Dialog["kind"]>> = {
  [common.DialogKind.TRUST]: "trust",
  [common.DialogKind.THEME]: "theme",
  [common.DialogKind.LOGIN]: "login",
  [common.DialogKind.PERMISSION]: "permission",
  [common.DialogKind.PLAN]: "plan",
  [common.DialogKind.QUESTION]: "question",
  [common.DialogKind.PICKER]: "picker",
  [common.DialogKind.LIMIT]: "limit",
};

const BACKGROUND_KINDS = ["subagent", "shell", "workflow"] as const;

const CONFIDENCES: Readonly<Record<number, pane.Confidence>> = {
  [common.EvidenceConfidence.PROOF]: "proof",
  [common.EvidenceConfidence.STRONG]: "strong",
};

const GAPS: Readonly<Record<number, pane.GapReason>> = {
  [common.GapReason.SLOW_READER]: "slow-reader",
  [common.GapReason.EVICTED]: "evicted",
  [common.GapReason.RESTART]: "restart",
};

const UPDATES: Readonly<Record<number, pane.WatchUpdate["kind"]>> = {
  [pb.UpdateKind.SNAPSHOT]: "snapshot",
  [pb.UpdateKind.HEARTBEAT]: "heartbeat",
  [pb.UpdateKind.END]: "end",
};

const MODES: Readonly<Record<pane.NudgeMode, pb.NudgeMode>> = {
  "wait-idle": pb.NudgeMode.WAIT_IDLE,
  immediate: pb.NudgeMode.IMMEDIATE,
  queue: pb.NudgeMode.QUEUE,
};

const SOURCES: ReadonlySet<string> = new Set<pane.EvidenceSource>([
  "hook",
  "agent-file",
  "screen",
  "title",
  "process",
  "output",
]);

export function peekRequest(request: pane.PeekRequest): MessageInitShape<typeof pb.SidecarPeekRequestSchema> {
  return { ...request };
}

export function nudgeRequest(request: pane.NudgeRequest): MessageInitShape<typeof pb.SidecarNudgeRequestSchema> {
  return {
    message: request.message,
    requestId: request.requestId,
    mode: MODES[request.mode],
    timeoutMs: BigInt(request.timeoutMs),
    sender: request.sender,
    priority: request.priority === "urgent" ? pb.NudgePriority.URGENT : pb.NudgePriority.NORMAL,
    ttlMs: BigInt(request.ttlMs),
  };
}

const RESPOND_OUTCOMES: Readonly<Record<number, pane.RespondResult["outcome"]>> = {
  [pb.RespondOutcome.ANSWERED]: "answered",
  [pb.RespondOutcome.CHANGED]: "changed",
};

export function respondRequest(request: pane.RespondRequest): MessageInitShape<typeof pb.SidecarRespondRequestSchema> {
  return { ...request, text: request.text ?? "" };
}

export function respondResult(message: pb.SidecarRespondResponse): pane.RespondResult {
  return { outcome: RESPOND_OUTCOMES[message.outcome] ?? "unknown", evidence: message.evidence.map(evidence) };
}

export function watchRequest(request: pane.WatchRequest): MessageInitShape<typeof pb.SidecarWatchRequestSchema> {
  const { lines, intervalMs, ansi, epoch, afterOffset } = request;
  const mode = request.mode === "raw" ? pb.WatchMode.RAW : pb.WatchMode.SCREEN;
  return { lines, intervalMs, ansi, epoch, mode, ...(afterOffset === undefined ? {} : { afterOffset }) };
}

export function peekResult(message: pb.SidecarPeekResponse): pane.PeekResult {
  const { $typeName: _, $unknown: __, sessionAlive, ...same } = message;
  return { ...same, alive: sessionAlive };
}

export function nudgeReceipt(message: pb.SidecarNudgeResponse, sender: string): pane.NudgeReceipt {
  const receipt = {
    requestId: message.requestId,
    outcome: OUTCOMES[message.outcome] ?? "unknown",
    error: message.error,
    sender,
    queuePosition: message.queuePosition,
    evidence: message.evidence.map(evidence),
    timings: timings(message.timings),
  } as const;
  return message.deliveredText === "" ? receipt : { ...receipt, deliveredText: message.deliveredText };
}

/** A receipt as events carry it. */
export function eventReceipt(receipt: common.NudgeReceipt): pane.NudgeReceipt {
  const { requestId, outcome, error, evidence, timings, sender } = receipt;
  const response = { requestId, outcome, error, evidence, ...(timings && { timings }) };
  return nudgeReceipt(create(pb.SidecarNudgeResponseSchema, response), sender);
}

export function agentStatus(message: pb.SidecarStatusResponse): AgentStatus {
  const lastOutputAt = Date.parse(message.lastOutputAt);
  return {
    alive: message.sessionAlive,
    state: STATES[message.state] ?? "uncertain",
    stateSince: milliseconds(message.stateSince),
    evidence: message.evidence.map(evidence),
    agentPid: message.agentPid,
    restarts: message.restarts,
    uptimeSeconds: Number(message.uptimeSeconds),
    queueDepth: message.queueDepth,
    attached: message.attached,
    epoch: message.epoch,
    cols: message.cols,
    rows: message.rows,
    draft: message.draft,
    background: message.background.map(backgroundTask),
    versions: { ...message.versions },
    agent: message.agent,
    sessionId: message.sessionId,
    projectId: message.projectId,
    provider: message.provider,
    ...(message.dialog === undefined ? {} : { dialog: dialog(message.dialog) }),
    ...(message.parkedUntil === undefined ? {} : { parkedUntil: milliseconds(message.parkedUntil) }),
    ...(message.exitCode === undefined ? {} : { exitCode: message.exitCode }),
    ...(Number.isNaN(lastOutputAt) ? {} : { lastOutputAt }),
  };
}

export function watchUpdate(message: pb.SidecarOutputUpdate): pane.WatchUpdate {
  const { $typeName: _, $unknown: __, sessionAlive, kind, timestamp, gap, ...same } = message;
  const update = {
    ...same,
    alive: sessionAlive,
    kind: UPDATES[kind] ?? "change",
    timestamp: Date.parse(timestamp) || 0,
  };
  if (gap === undefined) return update;
  return { ...update, gap: { first: gap.first, to: gap.to, reason: GAPS[gap.reason] ?? "truncated" } };
}

function evidence(message: common.Evidence): pane.Evidence {
  return {
    source: SOURCES.has(message.source) ? (message.source as pane.EvidenceSource) : "output",
    value: message.value,
    ageMs: Number(message.ageMs),
    confidence: CONFIDENCES[message.confidence] ?? "weak",
  };
}

/** On the wire 0 stands for a step that was not reached. */
function timings(message: common.NudgeTimings | undefined): pane.NudgeTimings {
  const read = (value: bigint | undefined) => (value === undefined || value === 0n ? undefined : Number(value));
  const steps = {
    queuedMs: read(message?.queuedMs),
    typedMs: read(message?.typedMs),
    submittedMs: read(message?.submittedMs),
    confirmedMs: read(message?.confirmedMs),
  };
  return Object.fromEntries(Object.entries(steps).filter(([, value]) => value !== undefined));
}

function dialog(message: common.Dialog): pane.Dialog {
  return {
    id: message.id,
    kind: DIALOGS[message.kind] ?? "other",
    title: message.title,
    text: message.text,
    choices: message.choices.map(({ key, label, selected }) => ({ key, label, selected })),
    since: milliseconds(message.since),
  };
}

function backgroundTask({ id, kind, title, since }: pb.BackgroundTask): pane.BackgroundTask {
  const known = BACKGROUND_KINDS.find((one) => one === kind) ?? "other";
  return { id, kind: known, title, since: milliseconds(since) };
}

function milliseconds(time: Timestamp | undefined): number {
  return time === undefined ? 0 : timestampMs(time);
}
