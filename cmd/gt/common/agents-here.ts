import type { Clock } from "../../../internal/base/clock.ts";
import { runtimeFolder } from "../../../internal/files/private-folder.ts";
import { runCommand } from "../../../internal/process/run-command.ts";
import { lookUpBead } from "../../../internal/terminal/finding/bead.ts";
import { listLocalSidecars } from "../../../internal/terminal/finding/local-sidecars.ts";
import type { OpenDeps, ResolveDeps } from "../../../internal/terminal/finding/resolve-place.ts";
import { socketPaths } from "../../../internal/terminal/finding/socket.ts";
import { findTown } from "../../../internal/terminal/finding/town.ts";
import type { PlaceConfig } from "./place-config.ts";
import { listTmuxSessions } from "./tmux-sessions.ts";

const BD_TIMEOUT_MS = 5000;
/** The ways to find and to open agents from here: what `resolveBackend` needs. */
export async function agentsHere(config: PlaceConfig, clock: Clock): Promise<ResolveDeps & OpenDeps> {
  const town = await findTown({ cwd: config.cwd, ...(config.townRoot !== undefined && { root: config.townRoot }) });
  const { socket, townSocket, tmux, tmuxTmpdir, uid } = config;
  const bead = { run: runCommand, env: config.env, cwd: town?.root ?? config.cwd, timeoutMs: BD_TIMEOUT_MS };
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
    lookUpBead: (ids, signal) => lookUpBead(ids, bead, signal),
    listSessions: (path, signal) => listTmuxSessions(path, config, signal),
    listSidecars: () => listLocalSidecars(runtimeFolder(config)),
    // Each brings a library that the other does not need, and gt is started often.
    openSidecar: async (place) => (await import("./open-sidecar.ts")).openSidecar(place, config, clock),
    openTmux: async (place) => (await import("./local-tmux.ts")).openLocalTmux(place, config, clock),
  };
}
