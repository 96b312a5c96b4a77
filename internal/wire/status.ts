import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { AgentState } from "../gen/gastown/v1/common_pb.ts";
import type * as pb from "../gen/gastown/v1/sidecar_pb.ts";
import type { AgentStatus } from "../session/agent-status.ts";
import type { SidecarIdentity } from "../session/sidecar-identity.ts";
import type * as pane from "../session/types.ts";
import { dialogMessage, dialogOf } from "./dialog.ts";
import { enumWords } from "./enum-words.ts";
import { evidenceMessage, evidenceOf } from "./evidence.ts";
import { millisecondsOf, rfc3339 } from "./wire-time.ts";

export const STATES = enumWords<pane.AgentStateName>()(AgentState, {
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
});

/** The phase of each state: one of the four words that the bridge's requirements prescribe. */
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

/**
 * The kinds of background tasks, by the same words as in messages; an unknown kind, which a newer sidecar may send,
 * becomes `other`.
 */
const BACKGROUND_KINDS = ["subagent", "shell", "workflow"] as const;

export function statusResponse(
  status: pane.PaneStatus,
  identity: SidecarIdentity,
  provider: string,
): MessageInitShape<typeof pb.SidecarStatusResponseSchema> {
  return {
    sessionAlive: status.alive,
    agentPhase: PHASES[status.state],
    uptimeSeconds: BigInt(status.uptimeSeconds),
    lastOutputAt: status.lastOutputAt === undefined ? "" : rfc3339(status.lastOutputAt),
    state: STATES.values[status.state],
    dialog: status.dialog && dialogMessage(status.dialog),
    evidence: status.evidence.map(evidenceMessage),
    agentPid: status.agentPid,
    exitCode: status.exitCode,
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
    parkedUntil: status.parkedUntil === undefined ? undefined : timestampFromMs(status.parkedUntil),
    background: status.background.map(({ since, ...task }) => ({ ...task, since: timestampFromMs(since) })),
    stateSince: timestampFromMs(status.stateSince),
    agentSessionId: status.agentSessionId ?? "",
  };
}

/** An unknown state, which a newer sidecar may send, becomes `uncertain`. */
export function agentStatusOf(message: pb.SidecarStatusResponse): AgentStatus {
  const lastOutputAt = Date.parse(message.lastOutputAt);
  return {
    alive: message.sessionAlive,
    state: STATES.word(message.state) ?? "uncertain",
    stateSince: millisecondsOf(message.stateSince),
    evidence: message.evidence.map(evidenceOf),
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
    agentSessionId: message.agentSessionId || undefined,
    dialog: message.dialog && dialogOf(message.dialog),
    parkedUntil: message.parkedUntil && millisecondsOf(message.parkedUntil),
    exitCode: message.exitCode,
    personInputAt: message.personInputAt && millisecondsOf(message.personInputAt),
    lastOutputAt: Number.isNaN(lastOutputAt) ? undefined : lastOutputAt,
  };
}

function backgroundTask({ id, kind, title, since }: pb.BackgroundTask): pane.BackgroundTask {
  const known = BACKGROUND_KINDS.find((one) => one === kind) ?? "other";
  return { id, kind: known, title, since: millisecondsOf(since) };
}
