import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type GetSessionResponse, GetSessionResponseSchema, SessionStatus } from "../../gen/bridge/v1/bridge_pb.ts";
import type { SessionInfo, SessionStatusName } from "../session-backend.ts";

export const STATUSES: Readonly<Record<SessionStatusName, SessionStatus>> = {
  starting: SessionStatus.STARTING,
  running: SessionStatus.RUNNING,
  failed: SessionStatus.FAILED,
  stopping: SessionStatus.STOPPING,
  stopped: SessionStatus.STOPPED,
};

export function sessionMessage(session: SessionInfo): GetSessionResponse {
  const { id, project, status, createdAt, stoppedAt, agentOpts, sidecar, ...same } = session;
  return create(GetSessionResponseSchema, {
    ...same,
    sessionId: id,
    projectId: project,
    status: STATUSES[status],
    createdAt: timestampFromMs(createdAt),
    stoppedAt: stoppedAt === undefined ? undefined : timestampFromMs(stoppedAt),
    agentOpts: { ...agentOpts },
    sidecarHost: sidecar?.host ?? "",
    sidecarPort: sidecar?.port ?? 0,
  });
}
