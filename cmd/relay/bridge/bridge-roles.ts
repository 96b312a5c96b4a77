import { randomUUID } from "node:crypto";
import type { LaneDeps } from "../../../internal/relay/lanes/lane-deps.ts";
import type { PermissionRequest, Permissions } from "../../../internal/relay/lanes/permissions.ts";
import { Progress } from "../../../internal/relay/lanes/progress.ts";
import type { OwnLink, ServedRole } from "../../../internal/relay/lanes/served-roles.ts";
import { BridgeLink } from "../../../internal/relay/links/bridge-link.ts";
import type { BridgeSessions, SessionParameters } from "../../../internal/relay/links/bridge-sessions.ts";
import type { LaneName } from "../../../internal/relay/nats/subjects.ts";
import { type BridgeClient, createClient } from "../../../pkg/bridgeclient/index.ts";
import { bridgeSessions, ownError } from "./bridge-client.ts";
import { type BridgesBlock, clientOptionsOf } from "./bridge-options.ts";

export interface BridgeRolesDeps extends LaneDeps {
  readonly permissions: Permissions;
}

export interface BridgeRoles {
  readonly roles: readonly ServedRole[];
  /** Closes the connections to the bridges. */
  close(): Promise<void>;
}

/** Roles and bridges of relay.yaml. Times in ms. */
export interface BridgeRolesSettings {
  readonly roles: Readonly<Record<string, RoleBlock>>;
  readonly bridges: BridgesBlock;
  readonly turns: { readonly create_timeout: number; readonly idle: number };
  readonly maxMessageBytes: number;
}

interface RoleBlock {
  readonly link: string;
  readonly bridge?: string | undefined;
  readonly provider?: string | undefined;
  readonly repo_path?: string | undefined;
  readonly agent_opts?: Readonly<Record<string, string>> | undefined;
  readonly fresh: boolean;
  readonly max_agents: number;
}

interface RoleHost {
  readonly sessions: BridgeSessions;
  readonly parameters: SessionParameters;
  readonly fresh: boolean;
  readonly turns: BridgeRolesSettings["turns"];
  readonly maxMessageBytes: number;
}

/**
 * The roles with `link: bridge`: their agents run in sessions of a BridgeService.
 * @throws DomainError `invalid` for files of a bridge that cannot be used
 */
export function bridgeRoles(deps: BridgeRolesDeps, settings: BridgeRolesSettings): BridgeRoles {
  const { turns, maxMessageBytes } = settings;
  const clients = new Map<string, { readonly client: BridgeClient; readonly sessions: BridgeSessions }>();
  const clientOf = (name: string) => {
    const known = clients.get(name);
    if (known !== undefined) return known;
    const options = clientOptionsOf(settings.bridges, name);
    const client = created(() => createClient(options));
    const made = { client, sessions: bridgeSessions(client, options.jwt.projectId) };
    clients.set(name, made);
    return made;
  };
  const roles = Object.entries(settings.roles).flatMap(([role, values]): readonly ServedRole[] => {
    const { link, bridge = "", provider = "", repo_path: repoPath = "", agent_opts: opts, fresh } = values;
    if (link !== "bridge") return [];
    const parameters = { provider, repoPath, agentOpts: { mode: "terminal", ...opts } };
    const host = { sessions: clientOf(bridge).sessions, parameters, fresh, turns, maxMessageBytes };
    const open: ServedRole["open"] = (lane, names) => openLink(deps, host, lane, names);
    return [{ role, dialect: "bridge", most: values.max_agents, open }];
  });
  const close = async () => {
    await Promise.all([...clients.values()].map(({ client }) => client.close()));
  };
  return { roles, close };
}

function created(make: () => BridgeClient): BridgeClient {
  try {
    return make();
  } catch (err) {
    throw ownError(err);
  }
}

function openLink(
  deps: BridgeRolesDeps,
  { sessions, parameters, fresh, turns, maxMessageBytes }: RoleHost,
  lane: LaneName,
  names: Parameters<ServedRole["open"]>[1],
): OwnLink {
  const { clock, logger, metrics, events, permissions } = deps;
  const who = { session_id: lane.sessionId, agent_id: names.agentId, role: lane.role };
  const place = { agent_id: names.agentId, role: lane.role };
  const labels = { dialect: "bridge", role: "agent" };
  const permit = (request: PermissionRequest, signal: AbortSignal) => permissions.ask(lane, request, signal);
  const progress = new Progress(deps, lane, randomUUID());
  let isConnected = false;
  const onSession = (session: string) => {
    if (!isConnected) metrics.connections.inc(labels);
    isConnected = true;
    logger.info({ action: "agent_connected", ...who, dialect: "bridge", session }, "a lane has a session of a bridge");
    events.publish(lane.sessionId, "agent.connected", { ...place, dialect: "bridge", session });
  };
  const onClosed = (reason: string) => {
    if (!isConnected) return;
    metrics.connections.dec(labels);
    metrics.disconnects.inc({ reason: "ended" });
    logger.info({ action: "agent_disconnected", ...who, reason }, "a lane has left its session of a bridge");
    events.publish(lane.sessionId, "agent.disconnected", { ...place, reason });
  };
  const options = { ...names, lane, parameters, fresh, createTimeoutMs: turns.create_timeout };
  return new BridgeLink(
    { clock, logger, sessions, permit, progress, onSession, onClosed },
    { ...options, restMs: turns.idle, maxMessageBytes },
  );
}
