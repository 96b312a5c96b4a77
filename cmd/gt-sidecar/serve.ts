import { existsSync } from "node:fs";
import { basename } from "node:path";
import { AuditLog } from "../../internal/auth/audit-log.ts";
import type { Clock } from "../../internal/base/clock.ts";
import type { Logger } from "../../internal/base/logger.ts";
import { version } from "../../internal/cli/version.ts";
import { auditLines } from "../../internal/files/audit-lines.ts";
import { PinnedFolder } from "../../internal/files/pinned-folder.ts";
import { announcedFolders } from "../../internal/files/private-folder.ts";
import type { ListenAddress } from "../../internal/rpc/port/listen.ts";
import { statePaths } from "../../internal/sidecar/halves/state-dir.ts";
import { lockState } from "../../internal/sidecar/halves/state-lock.ts";
import { ServingHalf } from "../../internal/sidecar/serving/serving-half.ts";
import { announceSidecar, type LocalSidecar } from "../../internal/terminal/finding/local-sidecars.ts";
import type { SidecarConfig } from "./config.ts";
import { formatListen } from "./listen.ts";

interface ServeContext {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The supervising half runs in another container. */
  readonly isApart: boolean;
}

const LOCK_WAIT_MS = 10_000;

/** Runs the serving half until it is asked to stop; then resolves to 0. */
export async function serve(config: SidecarConfig, { logger, clock, signal, isApart }: ServeContext): Promise<number> {
  const { sidecar, listen, healthListen, tlsDir, roleRules, tokens, crlPolicy, auditLog, allowHosts, localUsers } =
    config;
  const paths = statePaths(sidecar.stateDir);
  await untilThere(paths.dir, clock, signal);
  // A serving half that loses its supervising half needs a moment to end; two at a time would overwrite each other's
  // files.
  using folder = PinnedFolder.at(paths.dir, { strict: isApart });
  const held = {
    ...paths,
    get lock() {
      return folder.place(basename(paths.lock));
    },
  };
  await using _lock = await lockState(clock, held, { half: "serve", waitMs: LOCK_WAIT_MS });
  const isAudited = tlsDir !== undefined && (tokens !== undefined || auditLog !== undefined);
  const audit = isAudited ? new AuditLog({ clock, write: auditLines(auditLog, { clock, logger }) }) : undefined;
  await using announced = new AsyncDisposableStack();
  const onListening = async (address: ListenAddress) => {
    const { identity, agent, stateDir } = sidecar;
    const who = { session: identity.sessionId, agent, state_dir: stateDir };
    logger.info({ ...who, listen: formatListen(address), pid: process.pid }, "serving");
    for (const place of placesOf(config)) {
      try {
        announced.use(await announceSidecar(place, announcement(config, address, clock)));
      } catch (err) {
        logger.warn({ err }, `cannot register this sidecar in ${place}: gt may find it only by its address`);
      }
    }
  };
  const serving = new ServingHalf(
    { clock, logger, onListening, audit },
    {
      sidecar,
      isApart,
      listen,
      healthListen,
      hostCheck: { allowHosts },
      localUsers,
      versions: { "gt-sidecar": version },
      tlsDir,
      roleRules,
      tokens,
      trust: { crlPolicyOf: () => crlPolicy },
    },
  );
  await serving.run(signal);
  return 0;
}

/** In a container of its own this half may start first: the supervising half makes the folder. */
async function untilThere(path: string, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!existsSync(path)) await clock.sleep(100, signal);
}

function placesOf({ runtimeDir }: SidecarConfig): readonly string[] {
  const uid = process.getuid?.() ?? 0;
  return announcedFolders(runtimeDir === undefined ? { uid } : { uid, xdgRuntimeDir: runtimeDir });
}

function announcement({ sidecar, tlsDir }: SidecarConfig, address: ListenAddress, clock: Clock): LocalSidecar {
  const { identity, agent } = sidecar;
  return {
    agent: identity.address,
    listen: formatListen(address),
    pid: process.pid,
    sessionId: identity.sessionId,
    project: identity.project,
    provider: agent,
    tls: tlsDir !== undefined,
    startedAt: clock.now(),
  };
}
