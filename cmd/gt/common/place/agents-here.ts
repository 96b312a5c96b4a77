import type { Clock } from "../../../../internal/base/clock.ts";
import { DomainError } from "../../../../internal/base/errors.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { runtimeFolder } from "../../../../internal/files/private-folder.ts";
import type { RunCommand } from "../../../../internal/process/run-command.ts";
import type { AgentPods } from "../../../../internal/terminal/finding/agent-pods.ts";
import type { BeadDeps } from "../../../../internal/terminal/finding/bead.ts";
import type { ResolveDeps } from "../../../../internal/terminal/finding/resolve-place.ts";
import { socketPaths } from "../../../../internal/terminal/finding/socket.ts";
import { findTown, type Town } from "../../../../internal/terminal/finding/town.ts";
import type { OpenDeps } from "../../../../internal/terminal/resolve.ts";
import { present } from "../command/arguments.ts";
import { openQuickly } from "./open-quickly.ts";
import type { ClusterConfig, PlaceConfig } from "./place-config.ts";
import type { TmuxSessions } from "./tmux-sessions.ts";

const BD_TIMEOUT_MS = 5000;
const CAN_BE_LEFT_OUT: ReadonlySet<DomainError["kind"]> = new Set(["denied", "unavailable"]);

/** An agent at a given host and port is found without any program. */
const runCommand: RunCommand = async (...call) =>
  (await import("../../../../internal/process/run-command.ts")).runCommand(...call);

/** How `bd` is run from here: in the town, else where we stand. */
export function beadsHere(config: PlaceConfig, town: Town | undefined): BeadDeps {
  return { run: runCommand, env: config.env, cwd: town?.root ?? config.cwd, timeoutMs: BD_TIMEOUT_MS };
}

export function townOf({ cwd, townRoot }: PlaceConfig): Promise<Town | undefined> {
  return findTown({ cwd, ...(townRoot !== undefined && { root: townRoot }) });
}

/**
 * The ways to find and to open agents from here: what `resolveBackend` needs. A tmux server or a folder of sidecars
 * that cannot be trusted or does not answer is left out with a note, unless it is the one that was asked for by flag.
 */
export async function agentsHere(
  config: PlaceConfig,
  { clock, note }: Pick<CommandContext, "clock" | "note">,
): Promise<ResolveDeps & OpenDeps> {
  const town = await townOf(config);
  const { socket, townSocket, tmux, tmuxTmpdir, uid } = config;
  const bead = beadsHere(config, town);
  const servers = new Map<string, TmuxSessions>();
  const noted = new Set<string>();
  const leaveOut = (err: unknown): readonly [] => {
    if (config.localOnly || !(err instanceof DomainError) || !CAN_BE_LEFT_OUT.has(err.kind)) throw err;
    if (!noted.has(err.message)) note(`left out: ${err.message}`);
    noted.add(err.message);
    return [];
  };
  const listSessions = async (path: string, signal: AbortSignal) => {
    const { listTmuxSessions } = await import("./tmux-sessions.ts");
    const sessions = await listTmuxSessions(path, config, signal);
    servers.set(path, sessions);
    return sessions.names;
  };
  return {
    town,
    socketPaths: socketPaths({
      uid,
      ...(socket !== undefined && { socket }),
      ...(town !== undefined && { townRoot: town.root }),
      ...(townSocket !== undefined && { townSocket }),
      ...(tmux !== undefined && { tmux }),
      ...(tmuxTmpdir !== undefined && { tmuxTmpdir }),
    }),
    lookUpBead: async (ids, signal) =>
      (await import("../../../../internal/terminal/finding/bead.ts")).lookUpBead(ids, bead, signal),
    listSessions: (path, signal) => listSessions(path, signal).catch(leaveOut),
    ...(config.cluster !== undefined && { pods: lazyPods(config.cluster, config.env, clock) }),
    listSidecars: async () => {
      const { listLocalSidecars } = await import("../../../../internal/terminal/finding/local-sidecars.ts");
      return await listLocalSidecars(runtimeFolder(config)).catch(leaveOut);
    },
    openSidecar: (place) => openQuickly(place, config, clock),
    // These two bring what most calls of gt do not need.
    openSession: async ({ server, sessionId }) => {
      const { openBridge } = await import("./open-bridge.ts");
      return (await openBridge({ ...config, ...present({ token: config.serverToken?.() }), server }, clock)).backend(
        sessionId,
      );
    },
    openTmux: async (place) =>
      (await import("./local-tmux.ts")).openLocalTmux(place, servers.get(place.socketPath), config, clock),
  };
}

/** The Kubernetes API is loaded when a cluster is asked. */
function lazyPods(cluster: ClusterConfig, env: PlaceConfig["env"], clock: Clock): AgentPods {
  const open = async () => new (await import("./cluster-agents.ts")).ClusterAgents(cluster, { env, clock });
  return {
    where: `context ${JSON.stringify(cluster.context)}`,
    only: cluster.only,
    find: async (address, signal) => (await open()).find(address, signal),
    list: async (signal) => (await open()).list(signal),
  };
}
