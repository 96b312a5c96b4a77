import { randomUUID } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import { defaultSampling, type SamplingSettings } from "../acp/sampling-request.ts";
import type { LaneDeps } from "../lanes/lane-deps.ts";
import type { LaneLink } from "../lanes/link.ts";
import type { PermissionRequest, Permissions } from "../lanes/permissions.ts";
import { Progress } from "../lanes/progress.ts";
import type { RelayMetrics } from "../lanes/relay-metrics.ts";
import { AcpLink } from "../links/acp-link.ts";
import { Acp2Link } from "../links/acp2-link.ts";
import type { FrameChannel } from "../links/frame-channel.ts";
import { SamplingLink } from "../links/sampling-link.ts";
import type { UpgradePlace } from "./upgrade-place.ts";

export interface LinkDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: RelayMetrics;
  readonly lossy: LaneDeps["lossy"];
  readonly rings: LaneDeps["rings"];
  readonly permissions: Permissions;
}

export interface LinkOptions {
  readonly relayId: string;
  /** The role's parameters for sampling; absent keys take the defaults. */
  readonly settingsOf: (role: string) => Partial<SamplingSettings>;
  /** The working directory of a role's ACP agents. */
  readonly cwdOf: (role: string) => string;
  readonly createTimeoutMs: number;
  /** The longest frame and the longest answer, in bytes. */
  readonly maxMessageBytes: number;
}

/** Makes the link for an agent's connection, in the agent's dialect. */
export function makeLink(
  deps: LinkDeps,
  { relayId, settingsOf, cwdOf, createTimeoutMs, maxMessageBytes }: LinkOptions,
  { lane, agentId, dialect }: UpgradePlace,
  connectionId: string,
  channel: FrameChannel,
): LaneLink {
  const names = { sessionId: lane.sessionId, role: lane.role, agentId, connectionId };
  if (dialect === "acp" || dialect === "acp2") {
    const { permissions } = deps;
    const progress = new Progress(deps, lane, randomUUID());
    const permit = (request: PermissionRequest, signal: AbortSignal) => permissions.ask(lane, request, signal);
    const options = { ...names, cwd: cwdOf(lane.role), createTimeoutMs, maxMessageBytes };
    const Version = dialect === "acp" ? AcpLink : Acp2Link;
    return new Version({ ...deps, progress, permit }, options, channel);
  }
  const firstFrame = () =>
    JSON.stringify({
      type: "connection.established",
      relay_id: relayId,
      session_id: lane.sessionId,
      agent_id: agentId,
      timestamp: `${new Date(deps.clock.now()).toISOString().slice(0, 19)}Z`,
    });
  const settings = { ...defaultSampling(lane.role), ...settingsOf(lane.role) };
  const first = () => (dialect === "seed" ? firstFrame() : undefined);
  return new SamplingLink(deps, { ...names, dialect, settings, firstFrame: first }, channel);
}
