import { join, resolve } from "node:path";
import type { Pool } from "pg";
import { type ServerTokenOptions, TrustedServer } from "../../internal/auth/serving/trusted-server.ts";
import { checkTlsFolder } from "../../internal/auth/tls/check-tls-folder.ts";
import { aborted } from "../../internal/base/abort.ts";
import { DomainError } from "../../internal/base/errors.ts";
import type { Logger } from "../../internal/base/logger.ts";
import { runTasks, type Task } from "../../internal/base/task-group.ts";
import { hostPort } from "../../internal/base/text/host-name.ts";
import type { CommandContext } from "../../internal/cli/command/command-context.ts";
import { version } from "../../internal/cli/version.ts";
import { DaemonFrame } from "../../internal/daemon/daemon-frame.ts";
import { type DaemonTools, openDaemonTools } from "../../internal/daemon/daemon-tools.ts";
import { ThreadsService } from "../../internal/gen/threads/v1/threads_pb.ts";
import type { ListenAddress } from "../../internal/rpc/port/listen.ts";
import { OperationCalls } from "../../internal/threads/api/calls.ts";
import { readThreadsClaims, type ThreadsIssuer } from "../../internal/threads/api/claims.ts";
import { TokenHolds } from "../../internal/threads/api/holds.ts";
import { McpEndpoint } from "../../internal/threads/api/mcp-endpoint.ts";
import { threadsRoutes } from "../../internal/threads/api/rpc.ts";
import { OAUTH_SERVICE, SELF_ENDING, threadsGate, unauthorized } from "../../internal/threads/api/threads-gate.ts";
import { ThreadsMetrics } from "../../internal/threads/api/threads-metrics.ts";
import {
  AGENT_TTL_MS,
  LOCAL_ISSUERS,
  makeLocalKeys,
  mintLocal,
  publicKeyPath,
} from "../../internal/threads/client/local-issuer.ts";
import { announceServer } from "../../internal/threads/client/local-server.ts";
import { fieldsOfKind } from "../../internal/threads/domain/faults.ts";
import type { TurnRunner } from "../../internal/threads/domain/runtimes.ts";
import { Audience } from "../../internal/threads/service/audience.ts";
import { PostLimiter } from "../../internal/threads/service/post-limiter.ts";
import { Upkeep } from "../../internal/threads/service/upkeep.ts";
import { ChangesFeed } from "../../internal/threads/store/changes-feed.ts";
import { type DatabaseAddress, onFailures } from "../../internal/threads/store/database.ts";
import { DatabaseWatch } from "../../internal/threads/store/database-watch.ts";
import { checkSchema, migrate } from "../../internal/threads/store/migrate.ts";
import { PgStore } from "../../internal/threads/store/pg-store.ts";
import { PgWakes } from "../../internal/threads/store/pg-wakes.ts";
import { BridgeRuntimes } from "../../internal/threads/wake/bridge-runtimes.ts";
import { LocalRuntimes } from "../../internal/threads/wake/local-runtimes.ts";
import { WakeWorker } from "../../internal/threads/wake/wake-worker.ts";
import type { WakeWorkerDeps } from "../../internal/threads/wake/wake-worker-deps.ts";
import { CodexRunner } from "./codex-runner.ts";
import type { ServeConfig } from "./config.ts";
import { databasePlace, openDatabase } from "./database-place.ts";
import { sidecarFolder } from "./sidecar-folder.ts";

/** Time that calls have to finish during shutdown. */
const GRACE_MS = 5000;

/** Serves until `signal` is aborted. Then calls end, and after them a private database. */
export async function serve(command: ServeConfig, { clock, signal, env }: CommandContext): Promise<number> {
  await using tools = await toolsOf(command, { clock, env });
  const { logger } = tools;
  checkCertificate(command, clock.now());
  makeLocalKeys(command.stateDir);
  const place = databasePlace(command, { clock, logger });
  const served = new AbortController();
  const serving: Task = {
    run: async (stop) => {
      try {
        await serveOn(await place.address, command, { clock, logger, tools, env, signal: stop });
      } finally {
        served.abort();
      }
    },
  };
  const { task } = place;
  if (task === undefined) await serving.run(signal);
  else {
    // Keep the database running until the last call has ended.
    const database: Task = {
      run: () => task.run(served.signal),
    };
    const failed = new AbortController();
    const stop = AbortSignal.any([signal, failed.signal]);
    const running = database.run(stop).finally(() => failed.abort());
    await Promise.all([serving.run(stop), running]);
  }
  return 0;
}

/** Refuses to start with a TLS folder that cannot be used. Later, the server keeps the files that it has loaded. */
function checkCertificate({ tls }: ServeConfig, now: number): void {
  if (tls === undefined) return;
  try {
    checkTlsFolder(tls.dir, tls.trust, now);
  } catch (err) {
    if (!(err instanceof DomainError)) throw err;
    throw new DomainError(err.kind, err.message, { fields: { ...err.fields, problem: "key" }, cause: err });
  }
}

/**
 * The log, audit log and tracer that the file configures. With neither a file nor `--audit-log`, decisions about
 * callers are not recorded.
 */
async function toolsOf(
  { logLevel: level, auditLog: auditPath, fromFile: file }: ServeConfig,
  { clock, env }: Pick<CommandContext, "clock" | "env">,
): Promise<DaemonTools> {
  const { logging, tracing } = file.values ?? {};
  return await openDaemonTools(clock, {
    ...{ name: "threads", level, format: logging?.format ?? "json", redactPatterns: logging?.redact_patterns ?? [] },
    ...{ auditPath, otlpEndpoint: tracing?.otlp_endpoint, env },
  });
}

interface Ground {
  readonly clock: CommandContext["clock"];
  readonly logger: Logger;
  readonly tools: DaemonTools;
  readonly env: CommandContext["env"];
  readonly signal: AbortSignal;
}

async function serveOn(address: DatabaseAddress, command: ServeConfig, ground: Ground): Promise<void> {
  const { logger, signal } = ground;
  if (signal.aborted) return;
  const { poolMax } = command.fromFile;
  const pool = await openDatabase(address, logger, { size: poolMax });
  try {
    // Migrate only a private database: other processes may serve a configured one.
    if (command.databaseUrl === undefined) await migrate(pool);
    else await checkSchema(pool);
    await serveWith(pool, address, command, ground);
  } finally {
    await pool.end().catch(() => {});
  }
}

async function serveWith(pool: Pool, address: DatabaseAddress, command: ServeConfig, ground: Ground): Promise<void> {
  const { clock, logger, signal, tools, env } = ground;
  const { fromFile: file, auditLog } = command;
  const hostCheck = { allowHosts: [], isFixed: true };
  const frame = new DaemonFrame({ clock, logger }, { healthListen: command.healthListen, hostCheck });
  const store = new PgStore(pool, file.policy, () => clock.monotonicMs());
  const changes = new ChangesFeed({ clock, logger, pool, address });
  const holds = new TokenHolds({ clock, logger, isKeyInUse: (token) => server.holds(token), store });
  const limiter = new PostLimiter(() => clock.monotonicMs());
  const wakes = new PgWakes(pool);
  const counted = new ThreadsMetrics(frame.metrics.registry, {
    hears: () => changes.hears,
    open: () => wakes.counts(),
  });
  onFailures(pool, (code) => counted.databaseFailed(code));
  const service = { store, changes, limiter, clock, counts: counted };
  const calls = new OperationCalls({
    service,
    holds,
    logger,
    metrics: counted,
    monotonicMs: () => clock.monotonicMs(),
  });
  const audit = auditLog === undefined && file.values === undefined ? undefined : tools.audit;
  const audience = new Audience({ clock, logger, store, changes });
  const mcp = new McpEndpoint({ calls, holds, audience, logger, version });
  const { health, metrics } = frame;
  const onRefused = (code: string) => counted.refused(code);
  const server: TrustedServer = new TrustedServer(
    { clock, logger, health, metrics, tracer: tools.tracer, audit },
    {
      ...{ listen: command.listen, tls: command.tls, services: [ThreadsService] },
      // With TLS, the certificate identifies the server: any Host is allowed.
      hostCheck: command.tls === undefined ? hostCheck : { ...hostCheck, anyHost: true },
      clientCertificate: "optional",
      tokens: tokenOptions(command, onRefused),
      plain: { routes: mcp.routes },
      rules: () => ({
        routes: threadsRoutes(calls),
        errorFields: fieldsOfKind,
        gates: [threadsGate({ lives: file.tokens, holds, onRefused, decisions: audit })],
        isOpenToAll: (service) => service === OAUTH_SERVICE,
      }),
      graceMs: GRACE_MS,
    },
  );
  signal.addEventListener("abort", () => mcp.close(), { once: true });
  frame.drainsWith(signal);
  const ready: Task = {
    run: async (stop) => {
      const [at] = await Promise.all([server.listening, frame.listening]);
      using _announced = announceServer(command.stateDir, {
        ...{ url: urlOf(at, command.tls !== undefined), pid: process.pid, workspace: command.workspace },
        ca: command.tls && join(command.tls.dir, "ca.crt"),
      });
      frame.ready(ThreadsService.typeName);
      await frame.served(server, { workspace: command.workspace });
      await aborted(stop);
    },
  };
  const watch = new DatabaseWatch({ clock, logger, pool }, (answers) =>
    health.hinder("the database is away", !answers),
  );
  const upkeep = new Upkeep({ clock, logger, store, changes });
  const worker = wakeWorker(command, {
    ...{ clock, logger, store, wakes, changes },
    onEnded: (end) => counted.wakeEnded(end),
    onBegun: (ms) => counted.nudgeBegan(ms),
    runner: await codexRunner(command, { clock, env, listening: () => server.listening }),
  });
  await runTasks(signal, [changes, audience, watch, holds, server, frame, ready, upkeep, ...worker]);
}

function wakeWorker(
  { runtime, runtimeDir }: ServeConfig,
  { runner, ...deps }: Omit<WakeWorkerDeps, "runtimes"> & { readonly runner: TurnRunner | undefined },
): readonly Task[] {
  if (runtime === "none") return [];
  if (runtime === "local") {
    const folder = sidecarFolder({ runtimeDir });
    return [new WakeWorker({ ...deps, runtimes: new LocalRuntimes(deps.clock, folder, runner) })];
  }
  const worker: Task = {
    run: async (signal) => {
      using runtimes = new BridgeRuntimes(deps.clock, runtime);
      await new WakeWorker({ ...deps, runtimes }).run(signal);
    },
  };
  return [worker];
}

/** Undefined: agents are not woken on this machine, or their tokens are another issuer's. */
async function codexRunner(
  { fromFile, runtime, stateDir, tls, workspace }: ServeConfig,
  { clock, env, listening }: Pick<Ground, "clock" | "env"> & { readonly listening: () => Promise<ListenAddress> },
): Promise<TurnRunner | undefined> {
  if (runtime !== "local" || fromFile.issuers !== undefined) return undefined;
  return await CodexRunner.open({
    ...{ clock, env, workspace, folder: resolve(stateDir, "turns") },
    server: async () => ({
      GT_THREADS: urlOf(await listening(), tls !== undefined),
      ...(tls && { GT_THREADS_CA: join(tls.dir, "ca.crt") }),
    }),
    mint: ({ agent, role, sessionId: session }, ttlMs) =>
      mintLocal(stateDir, { kind: "agent", workspace, agent, role: role || "worker", session, ttlMs }, clock.now()),
  });
}

function tokenOptions(command: ServeConfig, onRefused: (code: string) => void): ServerTokenOptions {
  const { issuers, tokens } = command.fromFile;
  const { audience, personTtlMs, agentTtlMs } = tokens;
  return {
    ...{ keyFiles: issuers ?? localKeyFiles(command), audience, readClaims: readThreadsClaims },
    ...{ maxTtlMs: Math.max(personTtlMs, agentTtlMs), mostTtlMs: AGENT_TTL_MS },
    ...{ required: true, freeServices: new Set([OAUTH_SERVICE]), selfEnding: SELF_ENDING },
    refusal: (why) => {
      onRefused("UNAUTHORIZED");
      return unauthorized(why);
    },
  };
}

function localKeyFiles({ stateDir, workspace }: ServeConfig) {
  const rule = (kind: "person" | "agent"): ThreadsIssuer => ({
    ...{ issuer: LOCAL_ISSUERS[kind], kind, workspaces: [workspace], roles: ["*"] },
  });
  return (["person", "agent"] as const).map((kind) => ({ path: publicKeyPath(stateDir, kind), rule: rule(kind) }));
}

function urlOf({ host, port }: ListenAddress, isSecure: boolean): string {
  const name = host === "::" || host === "0.0.0.0" || host === "" ? "localhost" : host;
  return `${isSecure ? "https" : "http"}://${hostPort(name, port)}`;
}
