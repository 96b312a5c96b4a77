import { join } from "node:path";
import { AgentTokens } from "../../internal/auth/agent-token.ts";
import type { AuditLog } from "../../internal/auth/audit-log.ts";
import type { TrustedServer } from "../../internal/auth/serving/trusted-server.ts";
import { CrlServer } from "../../internal/auth/tls/crl-server.ts";
import { aborted } from "../../internal/base/abort.ts";
import type { Clock } from "../../internal/base/clock.ts";
import { DomainError, errorText } from "../../internal/base/errors.ts";
import type { Logger } from "../../internal/base/logger.ts";
import type { Redactor } from "../../internal/base/redact.ts";
import { runTasks, type Task } from "../../internal/base/task-group.ts";
import type { Tracer } from "../../internal/base/tracing.ts";
import { bridgeRoutes } from "../../internal/bridge/calls/bridge-routes.ts";
import { bridgeServing } from "../../internal/bridge/calls/bridge-serving.ts";
import { BridgeMetrics } from "../../internal/bridge/local/bridge-metrics.ts";
import { LocalSessions } from "../../internal/bridge/local/local-sessions.ts";
import { SessionTokens } from "../../internal/bridge/local/session-tokens.ts";
import { ReceiptSpans } from "../../internal/bridge/receipt-spans.ts";
import type { TerminalLauncher } from "../../internal/bridge/terminal-launcher.ts";
import { BridgeService } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { SessionLedger } from "../../internal/providers/ledger/session-ledger.ts";
import { HealthState } from "../../internal/rpc/server/health.ts";
import { createHealthServer } from "../../internal/rpc/server/health-http.ts";
import { Metrics } from "../../internal/rpc/server/metrics.ts";
import type { Place } from "./config.ts";
import type { BridgeConfig } from "./file/bridge-config.ts";
import { type ApartProjects, keepProjectsApart, whoAgentsAre } from "./place/projects-apart.ts";
import { providersOf, terminalsOf } from "./providers-of.ts";
import { openTerminalsFolder } from "./terminals-folder.ts";

export interface DaemonDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly audit: AuditLog;
  readonly redactor: Redactor;
  readonly tracer: Tracer;
}

export interface DaemonOptions {
  readonly config: BridgeConfig;
  /** The state folder, taken for this process. */
  readonly folder: string;
  readonly place: Place;
}

/** What the events of one session may hold in memory. */
const EVENT_BYTES = 16 * 1024 * 1024;
/** How long calls continue after the sessions have ended, so that streams come to their end. */
const CALL_GRACE_MS = 2000;

/**
 * The bridge: sessions on this host behind both layers, probes and metrics, revocation lists. Asked to stop, it
 * accepts no more starts, stops the sessions within their grace period while their events are still served, and ends
 * then.
 */
export class Daemon implements Task {
  readonly #deps: DaemonDeps;
  readonly #options: DaemonOptions;
  readonly #receipts = new ReceiptSpans({ follows: true });

  constructor(deps: DaemonDeps, options: DaemonOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /**
   * @throws DomainError `unavailable` when an address cannot be listened on; `invalid` for files that cannot be used
   */
  async run(signal: AbortSignal): Promise<void> {
    const health = new HealthState();
    const metrics = new Metrics();
    metrics.collectProcess();
    const sessions = await this.#sessions(metrics);
    const serving = this.#serving(sessions, health, metrics, signal);
    const healthServer = this.#healthServer(health, metrics);
    const servers = [serving, healthServer, ...this.#crlServer(serving)];
    const ended = new AbortController();
    signal.addEventListener("abort", () => health.shutDown(), { once: true });
    await runTasks(signal, [
      { run: (stop) => this.#runSessions(sessions, serving, health, stop).finally(() => ended.abort()) },
      { run: () => runTasks(ended.signal, servers) },
    ]);
  }

  /** Once an address is had: sessions of an earlier daemon are not to be touched by one that cannot serve them. */
  async #runSessions(
    sessions: LocalSessions,
    serving: TrustedServer,
    health: HealthState,
    signal: AbortSignal,
  ): Promise<void> {
    const address = await Promise.race([serving.listening, aborted(signal)]);
    if (!address) return;
    this.#deps.logger.info({ listen: `${address.host}:${address.port}`, pid: process.pid }, "serving");
    const serve = () => {
      for (const service of ["", BridgeService.typeName]) health.set(service, true);
    };
    void sessions.ready.then(serve);
    void this.#askProviders(sessions);
    await sessions.run(signal);
  }

  /** A slow program's version is known then before the first caller asks; one that cannot be used is in the log. */
  async #askProviders(sessions: LocalSessions): Promise<void> {
    for (const { provider, available, error } of await sessions.providers())
      if (!available) this.#deps.logger.warn({ provider, err: error }, "a provider cannot be used now");
  }

  async #sessions({ registry }: Metrics): Promise<LocalSessions> {
    const { clock, logger, redactor } = this.#deps;
    const { config, folder, place } = this.#options;
    const { sessions, allowedPaths } = config;
    const apart = keepProjectsApart(config, folder, place.env);
    logger.info(...whoAgentsAre(apart));
    const tokens = await this.#tokens(apart);
    const deps = { clock, logger, redactor, env: place.env, tokens, apart };
    const ledger = new SessionLedger({ clock, logger }, join(folder, "sessions"));
    const providers = providersOf(config, ledger, deps);
    const inTerminals = await openTerminalsFolder(folder, place.runtimeDir, process.getuid?.() ?? 0);
    const terminals = withLost(terminalsOf(config, inTerminals, deps), ledger);
    const names = config.providers.map(({ name }) => name);
    const metrics = new BridgeMetrics(registry, names);
    const onReceipt = (...receipt: Parameters<ReceiptSpans["settled"]>) => this.#receipts.settled(...receipt);
    return new LocalSessions(
      {
        ...{ clock, logger, redactor, providers, metrics, terminals, ...(tokens && { tokens }), onReceipt },
        ...(apart && { checkProject: apart.userOf }),
      },
      {
        ...{ maxPerProject: sessions.maxPerProject, maxGlobal: sessions.maxGlobal, allowedPaths },
        idleTimeoutMs: sessions.idleTimeoutMs ?? Number.POSITIVE_INFINITY,
        ...{ stopGraceMs: sessions.graceMs, retentionMs: sessions.retentionMs },
        ...{ eventBuffer: sessions.eventBuffer, eventBytes: EVENT_BYTES },
      },
    );
  }

  async #tokens(apart: ApartProjects | undefined): Promise<SessionTokens | undefined> {
    const { clock, logger } = this.#deps;
    const { config, folder } = this.#options;
    if (config.sessionTokens === undefined) return undefined;
    const tokens = new AgentTokens({ clock }, config.sessionTokens);
    if (apart === undefined) return SessionTokens.open({ clock, logger, tokens }, join(folder, "tokens"));
    return SessionTokens.open({ clock, logger, tokens, ownerOf: apart.userOf }, join(apart.places, "tokens"));
  }

  #serving(backend: LocalSessions, health: HealthState, metrics: Metrics, signal: AbortSignal): TrustedServer {
    const { clock, logger, audit, tracer } = this.#deps;
    const receipts = this.#receipts;
    const { listen, tls, trust, auth, limits, inputMaxBytes, maxConnectionAgeMs } = this.#options.config;
    const { keyFiles, audience, maxTtlMs, clockSkewMs } = auth;
    const isServing = () => !signal.aborted;
    return bridgeServing(
      { clock, logger, health, metrics, audit, tracer },
      {
        ...{ listen, tls: { dir: tls, trust }, maxConnectionAgeMs, graceMs: CALL_GRACE_MS },
        tokens: { keyFiles, audience, maxTtlMs, clockSkewMs },
        ready: backend.ready,
        routes: bridgeRoutes(
          { clock, backend, audit, isServing, receipts },
          { ...limits, maxInputBytes: inputMaxBytes },
        ),
      },
    );
  }

  #healthServer(health: HealthState, metrics: Metrics): Task {
    const { clock, logger } = this.#deps;
    const { healthListen, isHealthOptional } = this.#options.config;
    const server = createHealthServer(
      { clock, logger, health, metrics },
      { ...healthListen, hostCheck: { allowHosts: [] } },
    );
    server.listening.then(
      ({ host, port }) => logger.info({ listen: `${host}:${port}` }, "health served"),
      () => {}, // `run` throws the same
    );
    if (!isHealthOptional) return server;
    return {
      run: (signal) =>
        server.run(signal).catch((err: unknown) => {
          if (!(err instanceof DomainError)) throw err;
          logger.warn({ err: errorText(err) }, "no health port: set another one with server.health_listen");
          return aborted(signal);
        }),
    };
  }

  #crlServer(serving: TrustedServer): readonly CrlServer[] {
    const { crlServer } = this.#options.config;
    if (crlServer === undefined) return [];
    const { listen, path } = crlServer;
    const server = new CrlServer({ host: listen.host, port: listen.port, path, lists: () => serving.tls?.files.crl });
    server.listening.then(
      ({ host, port }) => this.#deps.logger.info({ listen: `${host}:${port}`, path }, "revocation lists served"),
      () => {},
    );
    return [server];
  }
}

/** The same launcher, which also names the sessions that a killed bridge has taken with it. */
function withLost(terminals: TerminalLauncher | undefined, ledger: SessionLedger): TerminalLauncher {
  return {
    checkOptions: (provider, options) => terminals?.checkOptions(provider, options),
    start: (config, signal) => {
      if (terminals !== undefined) return terminals.start(config, signal);
      return Promise.reject(
        new DomainError("precondition", "no gt-sidecar is installed with this bridge: sessions cannot have terminals"),
      );
    },
    survivors: async (signal) => [...ledger.lost(), ...((await terminals?.survivors(signal)) ?? [])],
  };
}
