import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { BeadDeps } from "../../beads/bead.ts";
import { present } from "../../cli/command/arguments.ts";
import type { CommandContext } from "../../cli/command/command-context.ts";
import { runtimeFolders } from "../../files/private-folder.ts";
import type { RunCommand } from "../../process/run-command.ts";
import type { AgentPods } from "../finding/agent-pods.ts";
import type { ResolveDeps } from "../finding/resolve-place.ts";
import { socketPaths } from "../finding/socket.ts";
import { findTown, type Town } from "../finding/town.ts";
import type { OpenDeps } from "../resolve.ts";
import { openQuickly } from "./open-quickly.ts";
import type { ClusterConfig, PlaceConfig } from "./place-config.ts";
import type { TmuxSessions } from "./tmux-sessions.ts";

const BD_TIMEOUT_MS = 5000;
const CAN_BE_LEFT_OUT: ReadonlySet<DomainError["kind"]> = new Set(["denied", "unavailable"]);

/** Imported on use: an agent at a given host and port is found without running a program. */
const runCommand: RunCommand = async (...call) => (await import("../../process/run-command.ts")).runCommand(...call);

/** How to run `bd` from here: in the town, otherwise in the current folder. */
export function beadsHere(config: PlaceConfig, town: Town | undefined): BeadDeps {
  return { run: runCommand, env: config.env, cwd: town?.root ?? config.cwd, timeoutMs: BD_TIMEOUT_MS };
}

export function townOf({ cwd, townRoot }: PlaceConfig): Promise<Town | undefined> {
  return findTown({ cwd, root: townRoot });
}

/**
 * The ways to find and to open agents from here: what `resolveBackend` needs. A tmux server or a folder of sidecars
 * that cannot be trusted or does not answer is left out with a note; with `--socket`, it is an error.
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
    socketPaths: socketPaths({ uid, socket, townRoot: town?.root, townSocket, tmux, tmuxTmpdir }),
    lookUpBead: async (ids, signal) => (await import("../../beads/bead.ts")).lookUpBead(ids, bead, signal),
    listSessions: (path, signal) => listSessions(path, signal).catch(leaveOut),
    pods: config.cluster && lazyPods(config.cluster, config.env, clock),
    listSidecars: async () => {
      const { listAllSidecars } = await import("../finding/local-sidecars.ts");
      return await listAllSidecars(runtimeFolders(config), leaveOut);
    },
    openSidecar: (place) => openQuickly(place, config, clock),
    // Imported on use: most calls of gt need neither the bridge nor a local tmux server.
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

/** Loads the Kubernetes client only when the cluster is asked. */
function lazyPods(cluster: ClusterConfig, env: PlaceConfig["env"], clock: Clock): AgentPods {
  const open = async () => new (await import("./cluster-agents.ts")).ClusterAgents(cluster, { env, clock });
  return {
    where: `context ${JSON.stringify(cluster.context)}`,
    only: cluster.only,
    find: async (address, signal) => (await open()).find(address, signal),
    list: async (signal) => (await open()).list(signal),
  };
}
