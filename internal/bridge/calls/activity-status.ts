import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { EvidenceConfidence } from "../../gen/gastown/v1/common_pb.ts";
import { type SidecarStatusResponse, SidecarStatusResponseSchema } from "../../gen/gastown/v1/sidecar_pb.ts";
import { dialogMessage } from "../../wire/dialog.ts";
import { PHASES, STATES } from "../../wire/status.ts";
import type { SessionInfo } from "../session-backend.ts";

/** The status of an agent without a terminal, for overviews; undefined: it has reported none. `now`: wall clock, ms. */
export function activityStatus(session: SessionInfo, now: number): SidecarStatusResponse | undefined {
  const { activity, id, project, provider, agent, epoch, restarts, createdAt } = session;
  if (activity === undefined) return undefined;
  return create(SidecarStatusResponseSchema, {
    ...{ sessionId: id, projectId: project, provider, agent, epoch, restarts, sessionAlive: true },
    ...{ state: STATES.values[activity.state], agentPhase: PHASES[activity.state] },
    stateSince: timestampFromMs(activity.since),
    dialog: activity.dialog && dialogMessage(activity.dialog),
    uptimeSeconds: BigInt(Math.round(Math.max(0, now - createdAt) / 1000)),
    evidence: [{ source: "output", value: "the agent's protocol says so", confidence: EvidenceConfidence.STRONG }],
  });
}
