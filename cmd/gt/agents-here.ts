import { randomUUID } from "node:crypto";
import type { Clock } from "../../internal/base/clock.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { domainErrorOf } from "../../internal/rpcserver/errors.ts";
import { sidecarTransport } from "../../internal/rpcserver/transport.ts";
import type { Backend } from "../../internal/terminal/backend.ts";
import { lookUpBead } from "../../internal/terminal/bead.ts";
import { GRPCSidecarBackend } from "../../internal/terminal/grpc-sidecar.ts";
import { listLocalSidecars } from "../../internal/terminal/local-sidecars.ts";
import { runtimeFolder } from "../../internal/terminal/private-folder.ts";
import type { OpenDeps, Place, ResolveDeps } from "../../internal/terminal/resolve.ts";
import { runCommand } from "../../internal/terminal/run-command.ts";
import { socketPaths } from "../../internal/terminal/socket.ts";
import { findTown } from "../../internal/terminal/town.ts";
import type { PlaceConfig } from "./config.ts";
import { openLocalTmux } from "./local-tmux.ts";
import { readTls } from "./tls-files.ts";
import { listTmuxSessions } from "./tmux-sessions.ts";

const BD_TIMEOUT_MS = 5000;
const RECONNECT_MS = 15_000;
/** What to do when a sidecar cannot be reached, by who said that it is there. */
const HINTS: Readonly<Record<(Place & { type: "sidecar" })["source"], string>> = {
  flags: "is gt-sidecar running there? gt agents lists those of this machine",
  bead: "the agent's bead says that it is there; from outside of the cluster forward a port and give --host and --port",
  "this machine": "it is running but does not answer; its log tells why",
};

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
    openSidecar: (place) => openSidecar(place, config, clock),
    openTmux: (place) => openLocalTmux(place, config, clock),
  };
}

/** @throws DomainError `unauthenticated` when it serves TLS and no certificate was given. */
async function openSidecar(place: Place & { type: "sidecar" }, config: PlaceConfig, clock: Clock): Promise<Backend> {
  const tls = place.tls === false ? undefined : await readTls(config.tls);
  const authority = place.host.includes(":") ? `[${place.host}]:${place.port}` : `${place.host}:${place.port}`;
  if (place.tls === true && tls === undefined) {
    throw new DomainError("unauthenticated", `${authority} wants a certificate`, {
      fields: { hint: "give --tls-dir, or --ca, --cert and --key" },
    });
  }
  const baseUrl = `${tls === undefined ? "http" : "https"}://${authority}`;
  const connection = sidecarTransport(tls === undefined ? { baseUrl } : { baseUrl, tls });
  return new GRPCSidecarBackend(
    {
      transport: connection.transport,
      clock,
      newId: randomUUID,
      toError: domainErrorOf,
      random: Math.random,
      close: () => connection[Symbol.dispose](),
    },
    { where: authority, hint: HINTS[place.source], reconnectMs: RECONNECT_MS },
  );
}
