import { join } from "node:path";
import { AgentTokens } from "../../internal/auth/agent-token.ts";
import type { TrustedServer } from "../../internal/auth/serving/trusted-server.ts";
import { CrlServer } from "../../internal/auth/tls/crl-server.ts";
import { aborted } from "../../internal/base/abort.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { runTasks, type Task } from "../../internal/base/task-group.ts";
import { bridgeRoutes } from "../../internal/bridge/calls/bridge-routes.ts";
import { bridgeServing } from "../../internal/bridge/calls/bridge-serving.ts";
import { BridgeMetrics } from "../../internal/bridge/local/bridge-metrics.ts";
import { LocalSessions } from "../../internal/bridge/local/local-sessions.ts";
import { SessionTokens } from "../../internal/bridge/local/session-tokens.ts";
import { ReceiptSpans } from "../../internal/bridge/receipt-spans.ts";
import type { TerminalLauncher } from "../../internal/bridge/terminal-launcher.ts";
import { DaemonFrame } from "../../internal/daemon/daemon-frame.ts";
import type { DaemonTools } from "../../internal/daemon/daemon-tools.ts";
import { BridgeService } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { SessionLedger } from "../../internal/providers/ledger/session-ledger.ts";
import type { Metrics } from "../../internal/rpc/server/metrics.ts";
import type { BridgeEnvironment } from "./config.ts";
import type { BridgeConfig } from "./file/bridge-config.ts";
import { type ApartProjects, agentUsersLogEntry, keepProjectsApart } from "./place/projects-apart.ts";
import { providersOf, terminalsOf } from "./providers-of.ts";
import { openTerminalsFolder } from "./terminals-folder.ts";

export interface DaemonOptions {
  readonly config: BridgeConfig;
  /** The state folder, locked for this process. */
  readonly folder: string;
  readonly place: BridgeEnvironment;
}

/** The limit for the events of one session in memory, bytes. */
const EVENT_BYTES = 16 * 1024 * 1024;
/** The time that calls have to finish their streams after the sessions have ended. */
const CALL_GRACE_MS = 2000;

/**
 * The bridge: sessions on this host behind both layers, probes and metrics, revocation lists. When it is asked to stop,
 * it rejects new starts, stops the sessions within their grace period while it still serves their events, and then
 * exits.
 */
export class Daemon implements Task {
  readonly #deps: DaemonTools;
  readonly #options: DaemonOptions;
  readonly #receipts = new ReceiptSpans({ follows: true });

  constructor(deps: DaemonTools, options: DaemonOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /**
   * @throws DomainError `unavailable` when it cannot listen on an address; `invalid` for files that cannot be used
   */
  async run(signal: AbortSignal): Promise<void> {
    const frame = this.#frame();
    const sessions = await this.#sessions(frame.metrics);
    const serving = this.#serving(sessions, frame, signal);
    const ended = new AbortController();
    frame.drainsWith(signal);
    await runTasks(signal, [
      { run: (stop) => this.#runSessions(sessions, serving, frame, stop).finally(() => ended.abort()) },
      { run: () => runTasks(ended.signal, [serving, frame, ...this.#crlServer(serving, frame)]) },
    ]);
  }

  /** Runs once the server listens: a daemon that cannot serve must not touch the sessions of an earlier one. */
  async #runSessions(
    sessions: LocalSessions,
    serving: TrustedServer,
    frame: DaemonFrame,
    signal: AbortSignal,
  ): Promise<void> {
    const address = await Promise.race([frame.served(serving), aborted(signal)]);
    if (!address) return;
    void sessions.ready.then(() => frame.ready(BridgeService.typeName));
    void this.#askProviders(sessions);
    await sessions.run(signal);
  }

  /**
   * Asks each provider for its version before the first caller does, because a program may be slow; logs unusable ones.
   */
  async #askProviders(sessions: LocalSessions): Promise<void> {
    for (const { provider, available, error } of await sessions.providers())
      if (!available) this.#deps.logger.warn({ provider, err: error }, "a provider cannot be used now");
  }

  async #sessions({ registry }: Metrics): Promise<LocalSessions> {
    const { clock, logger, redactor } = this.#deps;
    const { config, folder, place } = this.#options;
    const { sessions, allowedPaths } = config;
    const apart = keepProjectsApart(config, folder, place.env);
    logger.info(...agentUsersLogEntry(apart));
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
      { clock, logger, redactor, providers, metrics, terminals, tokens, onReceipt, checkProject: apart?.userOf },
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

  #serving(backend: LocalSessions, { health, metrics }: DaemonFrame, signal: AbortSignal): TrustedServer {
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

  #frame(): DaemonFrame {
    const { healthListen, isHealthOptional } = this.#options.config;
    return new DaemonFrame(this.#deps, {
      healthListen,
      hostCheck: { allowHosts: [], isFixed: true },
      withoutHealth: isHealthOptional ? "no health port: set another one with server.health_listen" : undefined,
    });
  }

  #crlServer(serving: TrustedServer, frame: DaemonFrame): readonly CrlServer[] {
    const { crlServer } = this.#options.config;
    if (crlServer === undefined) return [];
    const { listen, path } = crlServer;
    const server = new CrlServer({ host: listen.host, port: listen.port, path, lists: () => serving.tls?.files.crl });
    void frame.alsoServed(server, "revocation lists", { path });
    return [server];
  }
}

/**
 * Adds to a launcher's survivors the sessions that ended when a bridge was killed. Without a launcher, `start` fails.
 */
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
