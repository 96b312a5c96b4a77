import { randomUUID } from "node:crypto";
import type { Environment } from "../../internal/base/environment.ts";
import type { AgentCommand } from "../../internal/process/children/agent-process.ts";
import { MarkedProcesses } from "../../internal/process/children/marked-processes.ts";
import { OrphanGuard } from "../../internal/process/children/orphan-guard.ts";
import { passedEnvironment } from "../../internal/process/children/passed-environment.ts";
import type { LaneDeps } from "../../internal/relay/lanes/lane-deps.ts";
import type { PermissionRequest, Permissions } from "../../internal/relay/lanes/permissions.ts";
import { Progress } from "../../internal/relay/lanes/progress.ts";
import type { OwnLink, ServedRole } from "../../internal/relay/lanes/served-roles.ts";
import { AcpLink } from "../../internal/relay/links/acp-link.ts";
import type { ChannelEnd } from "../../internal/relay/links/channel-end.ts";
import { holdWhileFull } from "../../internal/relay/links/hold-while-full.ts";
import { StdioChannel, type StdioChannelDeps } from "../../internal/relay/links/stdio-channel.ts";
import { type ChildChannel, StdioLink } from "../../internal/relay/links/stdio-link.ts";
import type { LaneName } from "../../internal/relay/nats/subjects.ts";
import type { RelaySettings } from "./settings.ts";

export interface StdioRolesDeps extends LaneDeps {
  readonly permissions: Permissions;
  readonly env: Environment;
}

interface RoleHost {
  readonly channels: StdioChannelDeps;
  readonly command: AgentCommand;
  readonly turns: RelaySettings["turns"];
  readonly maxMessageBytes: number;
}

type Role = RelaySettings["roles"][string];
type Names = Parameters<ServedRole["open"]>[1];

/** The roles with `link: stdio`: their agents run as children of this process. */
export function stdioRoles(
  deps: StdioRolesDeps,
  { roles, turns, maxMessageBytes }: RelaySettings,
): readonly ServedRole[] {
  const { clock, env } = deps;
  const channels = { clock, guard: new OrphanGuard(), marked: new MarkedProcesses(clock) };
  return Object.entries(roles).flatMap(([role, { link, max_agents: most, ...values }]) => {
    if (link !== "stdio") return [];
    const host = { channels, command: commandOf(values, env), turns, maxMessageBytes };
    return [{ role, dialect: "acp" as const, most, open: (lane, names) => openLink(deps, host, lane, names) }];
  });
}

function commandOf(values: Pick<Role, "command" | "repo_path" | "pass_env" | "env">, env: Environment): AgentCommand {
  const { command: [program = "", ...args] = [], repo_path: cwd = process.cwd(), pass_env: patterns } = values;
  const names = patterns.filter((pattern) => !pattern.endsWith("*"));
  const prefixes = patterns.filter((pattern) => pattern.endsWith("*")).map((pattern) => pattern.slice(0, -1));
  return { program, args, cwd, env: { ...passedEnvironment(env, { names, prefixes }), ...values.env } };
}

function openLink(deps: StdioRolesDeps, host: RoleHost, lane: LaneName, names: Names): OwnLink {
  const { clock, logger, metrics, events, permissions } = deps;
  const { command, turns } = host;
  const who = { session_id: lane.sessionId, agent_id: names.agentId, role: lane.role };
  const place = { agent_id: names.agentId, role: lane.role };
  const labels = { dialect: "acp", role: "agent" };
  const permit = (request: PermissionRequest, signal: AbortSignal) => permissions.ask(lane, request, signal);
  const linkOver = (channel: ChildChannel) => {
    const progress = new Progress(deps, lane, randomUUID());
    const limits = { createTimeoutMs: turns.create_timeout, maxMessageBytes: host.maxMessageBytes };
    const options = { ...names, ...lane, cwd: command.cwd, ...limits };
    holdWhileFull(deps.outbox, channel);
    return new AcpLink({ clock, logger, metrics, progress, permit }, options, channel);
  };
  const onStarted = () => {
    metrics.connections.inc(labels);
    logger.info({ action: "agent_connected", ...who, dialect: "acp" }, "an agent has started");
    events.publish(lane.sessionId, "agent.connected", { ...place, dialect: "acp" });
  };
  const onEnded = ({ code, why }: ChannelEnd, livedMs: number) => {
    metrics.connections.dec(labels);
    metrics.disconnects.inc({ reason: "ended" });
    metrics.connectionSeconds.observe(livedMs / 1000);
    logger.info({ action: "agent_disconnected", ...who, reason: why, code }, "an agent has ended");
    events.publish(lane.sessionId, "agent.disconnected", { ...place, reason: why, code });
  };
  const onCrashLoop = (ends: number, { why }: ChannelEnd) => {
    logger.error({ action: "crash_loop", ...who, ends, reason: why }, "an agent ends soon after each start");
  };
  const start = () => StdioChannel.start(host.channels, command);
  const options = { ...names, restMs: turns.idle };
  return new StdioLink({ clock, start, linkOver, onStarted, onEnded, onCrashLoop }, options);
}
