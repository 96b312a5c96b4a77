import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { DomainError } from "../base/errors.ts";
import {
  AgentState,
  DialogKind,
  DialogSchema,
  EvidenceConfidence,
  EvidenceSchema,
  GapReason,
  GapSchema,
  NudgeOutcome,
} from "../gen/gastown/v1/common_pb.ts";
import {
  NudgeMode,
  NudgePriority,
  RespondOutcome,
  type SidecarNudgeRequest,
  type SidecarNudgeResponseSchema,
  type SidecarOutputUpdateSchema,
  type SidecarPeekResponseSchema,
  type SidecarRespondRequest,
  type SidecarRespondResponseSchema,
  type SidecarStatusResponseSchema,
  type SidecarWatchRequest,
  UpdateKind,
  WatchMode,
} from "../gen/gastown/v1/sidecar_pb.ts";
import type { SidecarIdentity } from "../session/sidecar-identity.ts";
import type * as pane from "../session/types.ts";

export const STATES = {
  starting: AgentState.STARTING,
  idle: AgentState.IDLE,
  busy: AgentState.BUSY,
  dialog: AgentState.DIALOG,
  parked: AgentState.PARKED,
  stopping: AgentState.STOPPING,
  dead: AgentState.DEAD,
  "crash-loop": AgentState.CRASH_LOOP,
  stalled: AgentState.STALLED,
  uncertain: AgentState.UNCERTAIN,
} as const satisfies Record<pane.AgentStateName, AgentState>;

/** The four words of the requirement. */
export const PHASES = {
  starting: "starting",
  idle: "idle",
  busy: "running",
  uncertain: "running",
  dialog: "stuck",
  parked: "stuck",
  stopping: "stuck",
  dead: "stuck",
  "crash-loop": "stuck",
  stalled: "stuck",
} as const satisfies Record<pane.AgentStateName, string>;

export const OUTCOMES = {
  submitted: NudgeOutcome.SUBMITTED,
  queued: NudgeOutcome.QUEUED,
  stranded: NudgeOutcome.STRANDED,
  "blocked-by-dialog": NudgeOutcome.BLOCKED_BY_DIALOG,
  "composer-busy": NudgeOutcome.COMPOSER_BUSY,
  "agent-dead": NudgeOutcome.AGENT_DEAD,
  expired: NudgeOutcome.EXPIRED,
  unknown: NudgeOutcome.UNKNOWN,
  unsafe: NudgeOutcome.UNSAFE,
  cancelled: NudgeOutcome.CANCELLED,
} as const satisfies Record<pane.NudgeOutcome, NudgeOutcome>;

const DIALOGS = {
  trust: DialogKind.TRUST,
  theme: DialogKind.THEME,
  login: DialogKind.LOGIN,
  permission: DialogKind.PERMISSION,
  plan: DialogKind.PLAN,
  question: DialogKind.QUESTION,
  picker: DialogKind.PICKER,
  limit: DialogKind.LIMIT,
  other: DialogKind.OTHER,
} as const satisfies Record<pane.Dialog["kind"], DialogKind>;

const CONFIDENCES = {
  proof: EvidenceConfidence.PROOF,
  strong: EvidenceConfidence.STRONG,
  weak: EvidenceConfidence.WEAK,
} as const;

export const GAPS = {
  "slow-reader": GapReason.SLOW_READER,
  evicted: GapReason.EVICTED,
  restart: GapReason.RESTART,
  truncated: GapReason.TRUNCATED,
} as const satisfies Record<pane.GapReason, GapReason>;

const KINDS = {
  snapshot: UpdateKind.SNAPSHOT,
  change: UpdateKind.CHANGE,
  heartbeat: UpdateKind.HEARTBEAT,
  end: UpdateKind.END,
} as const;

const MODES: Readonly<Record<NudgeMode, pane.NudgeMode>> = {
  [NudgeMode.UNSPECIFIED]: "wait-idle",
  [NudgeMode.WAIT_IDLE]: "wait-idle",
  [NudgeMode.IMMEDIATE]: "immediate",
  [NudgeMode.QUEUE]: "queue",
};

const PRIORITIES: Readonly<Record<NudgePriority, pane.NudgePriority>> = {
  [NudgePriority.UNSPECIFIED]: "normal",
  [NudgePriority.NORMAL]: "normal",
  [NudgePriority.URGENT]: "urgent",
};

/** `who`: who the server knows the caller to be. @throws DomainError `invalid` for an unknown value of an enum */
export function nudgeRequestOf(
  request: SidecarNudgeRequest,
  who: Pick<pane.NudgeRequest, "sender" | "owner">,
): pane.NudgeRequest {
  return {
    ...who,
    message: request.message,
    requestId: request.requestId,
    mode: wordOf("mode", MODES, request.mode),
    timeoutMs: Number(request.timeoutMs),
    priority: wordOf("priority", PRIORITIES, request.priority),
    ttlMs: Number(request.ttlMs),
    quietMs: Number(request.quietMs),
  };
}

/** Enums are open on the wire: a newer caller's value arrives as its number. */
function wordOf<T>(field: string, words: Readonly<Record<number, T>>, value: number): T {
  const word = words[value];
  if (word === undefined) throw new DomainError("invalid", `${field} has no value ${value}`);
  return word;
}

const WATCH_MODES: Readonly<Record<WatchMode, pane.WatchRequest["mode"]>> = {
  [WatchMode.UNSPECIFIED]: "screen",
  [WatchMode.SCREEN]: "screen",
  [WatchMode.RAW]: "raw",
};

/** @throws DomainError `invalid` for a mode that this sidecar does not know */
export function watchRequestOf(request: SidecarWatchRequest): pane.WatchRequest {
  return {
    mode: wordOf("mode", WATCH_MODES, request.mode),
    lines: request.lines,
    intervalMs: request.intervalMs,
    ansi: request.ansi,
    epoch: request.epoch,
    ...(request.afterOffset === undefined ? {} : { afterOffset: request.afterOffset }),
  };
}

export function nudgeResponse(receipt: pane.NudgeReceipt): MessageInitShape<typeof SidecarNudgeResponseSchema> {
  return {
    delivered: receipt.outcome === "submitted",
    error: receipt.error,
    outcome: OUTCOMES[receipt.outcome],
    requestId: receipt.requestId,
    queuePosition: receipt.queuePosition,
    evidence: receipt.evidence.map(evidence),
    timings: {
      queuedMs: reached(receipt.timings.queuedMs),
      typedMs: reached(receipt.timings.typedMs),
      submittedMs: reached(receipt.timings.submittedMs),
      confirmedMs: reached(receipt.timings.confirmedMs),
    },
    deliveredText: receipt.deliveredText ?? "",
  };
}

/** 0 on the wire says that a step was not reached. */
function reached(ms: number | undefined): bigint {
  return ms === undefined ? 0n : BigInt(Math.max(1, ms));
}

const RESPOND_OUTCOMES = {
  answered: RespondOutcome.ANSWERED,
  changed: RespondOutcome.CHANGED,
  unknown: RespondOutcome.UNKNOWN,
} as const satisfies Record<pane.RespondResult["outcome"], RespondOutcome>;

export function respondRequestOf(request: SidecarRespondRequest): pane.RespondRequest {
  const { dialogId, choice, text, requestId } = request;
  return { dialogId, choice, requestId, ...(text === "" ? {} : { text }) };
}

export function respondResponse(result: pane.RespondResult): MessageInitShape<typeof SidecarRespondResponseSchema> {
  return { outcome: RESPOND_OUTCOMES[result.outcome], evidence: result.evidence.map(evidence) };
}

export function peekResponse(result: pane.PeekResult): MessageInitShape<typeof SidecarPeekResponseSchema> {
  const { alive, ...rest } = result;
  return { ...rest, sessionAlive: alive };
}

export function statusResponse(
  status: pane.PaneStatus,
  identity: SidecarIdentity,
  provider: string,
): MessageInitShape<typeof SidecarStatusResponseSchema> {
  return {
    sessionAlive: status.alive,
    agentPhase: PHASES[status.state],
    uptimeSeconds: BigInt(status.uptimeSeconds),
    lastOutputAt: status.lastOutputAt === undefined ? "" : rfc3339(status.lastOutputAt),
    state: STATES[status.state],
    ...(status.dialog === undefined ? {} : { dialog: dialog(status.dialog) }),
    evidence: status.evidence.map(evidence),
    agentPid: status.agentPid,
    ...(status.exitCode === undefined ? {} : { exitCode: status.exitCode }),
    restarts: status.restarts,
    queueDepth: status.queueDepth,
    attached: status.attached,
    epoch: status.epoch,
    cols: status.cols,
    rows: status.rows,
    versions: { ...status.versions },
    agent: identity.address,
    sessionId: identity.sessionId,
    projectId: identity.project,
    provider,
    draft: status.draft,
    ...(status.parkedUntil === undefined ? {} : { parkedUntil: timestampFromMs(status.parkedUntil) }),
    background: status.background.map(({ since, ...task }) => ({ ...task, since: timestampFromMs(since) })),
    stateSince: timestampFromMs(status.stateSince),
  };
}

export function outputUpdate(update: pane.WatchUpdate): MessageInitShape<typeof SidecarOutputUpdateSchema> {
  const { alive, timestamp, kind, gap, ...rest } = update;
  return {
    ...rest,
    data: update.data as Uint8Array<ArrayBuffer>,
    sessionAlive: alive,
    timestamp: rfc3339(timestamp),
    kind: KINDS[kind],
    ...(gap === undefined ? {} : { gap: create(GapSchema, { ...gap, reason: GAPS[gap.reason] }) }),
  };
}

function evidence(item: pane.Evidence) {
  const { ageMs, confidence, ...rest } = item;
  return create(EvidenceSchema, { ...rest, ageMs: BigInt(ageMs), confidence: CONFIDENCES[confidence] });
}

export function dialog(item: pane.Dialog) {
  const choices = item.choices.map((choice) => ({ ...choice }));
  return create(DialogSchema, { ...item, kind: DIALOGS[item.kind], choices, since: timestampFromMs(item.since) });
}

/** Milliseconds, UTC. */
function rfc3339(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
