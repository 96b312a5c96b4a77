import { timestampMs } from "@bufbuild/protobuf/wkt";
import { isoTime } from "../../../../internal/base/text/iso-time.ts";
import { type GetSessionResponse, SessionStatus } from "../../../../internal/gen/bridge/v1/bridge_pb.ts";

const WORDS: Readonly<Partial<Record<SessionStatus, string>>> = {
  [SessionStatus.STARTING]: "starting",
  [SessionStatus.RUNNING]: "running",
  [SessionStatus.FAILED]: "failed",
  [SessionStatus.STOPPING]: "stopping",
  [SessionStatus.STOPPED]: "stopped",
};

/** A session's status as a word. */
export function statusWord(status: SessionStatus): string {
  return WORDS[status] ?? "unknown";
}

/** A session of a control plane as a JSON object. */
export function sessionJson(session: GetSessionResponse): Record<string, unknown> {
  const { createdAt, stoppedAt } = session;
  return {
    session_id: session.sessionId,
    project_id: session.projectId,
    agent: session.agent || undefined,
    provider: session.provider,
    status: statusWord(session.status),
    repo_path: session.repoPath,
    agent_opts: session.agentOpts,
    created_at: createdAt && isoTime(timestampMs(createdAt)),
    stopped_at: stoppedAt && isoTime(timestampMs(stoppedAt)),
    error: session.error || undefined,
    reason: session.reason || undefined,
    epoch: session.epoch,
    last_seq: String(session.lastSeq),
    restarts: session.restarts,
    sidecar_host: session.sidecarHost || undefined,
    sidecar_port: session.sidecarPort || undefined,
  };
}
