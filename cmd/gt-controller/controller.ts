import type { TrustedServer } from "../../internal/auth/serving/trusted-server.ts";
import { aborted } from "../../internal/base/abort.ts";
import { runTasks, type Task } from "../../internal/base/task-group.ts";
import { bridgeRoutes } from "../../internal/bridge/calls/bridge-routes.ts";
import { bridgeServing } from "../../internal/bridge/calls/bridge-serving.ts";
import { CaCache } from "../../internal/controller/certificates/ca-cache.ts";
import { OwnCertificate } from "../../internal/controller/certificates/own-certificate.ts";
import { SecretClient } from "../../internal/controller/certificates/secret-client.ts";
import { LABELS, MANAGED_BY } from "../../internal/controller/pods/names.ts";
import { clientRules, controllerId, LEASE_NAME } from "../../internal/controller/pods/settings.ts";
import { ControllerMetrics } from "../../internal/controller/sessions/controller-metrics.ts";
import { DaemonFrame } from "../../internal/daemon/daemon-frame.ts";
import type { DaemonTools } from "../../internal/daemon/daemon-tools.ts";
import { BridgeService } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { ClusterClock } from "../../internal/kube/access/cluster-clock.ts";
import type { KubeCredentials } from "../../internal/kube/access/credentials.ts";
import { FencedKube } from "../../internal/kube/fenced-kube.ts";
import { LeaseElector } from "../../internal/kube/lease-elector.ts";
import { KubeTransport } from "../../internal/kube/transport.ts";
import { ControllerSessions } from "./controller-sessions.ts";
import type { OpenedConfig } from "./open-config.ts";
import type { ServerTlsFolder } from "./server-tls-folder.ts";

export interface ControllerDeps extends Omit<DaemonTools, keyof AsyncDisposable> {
  readonly credentials: KubeCredentials;
  readonly folder: ServerTlsFolder;
  /** The environment of the program that writes beads. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface ControllerOptions {
  readonly config: OpenedConfig;
  /** The controllers' namespace: of the Lease, and in our certificate's name. */
  readonly namespace: string;
  /** The identity of this replica, new at each start. */
  readonly identity: string;
}

/** The replica's frame with the process's registry and the controller's metrics in it, and the cluster's time. */
interface Instruments {
  readonly frame: DaemonFrame;
  readonly numbers: ControllerMetrics;
  readonly time: ClusterClock;
}

/** The time that calls may continue after shutdown begins. */
const CALL_GRACE_MS = 2_000;
const READY_LOOK_MS = 100;
/** The time for sidecars to answer at the start; a hung one does not hold up the replica. */
const CATCH_UP_MS = 2_000;
const OURS = { [LABELS.managedBy]: MANAGED_BY };

/** One replica: BridgeService over the cluster's pods, and the leader's work while it is elected. */
export class Controller implements Task {
  readonly #deps: ControllerDeps;
  readonly #options: ControllerOptions;

  constructor(deps: ControllerDeps, options: ControllerOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /**
   * Asked to stop, it rejects new calls, ends its writers, releases the Lease, and closes its connections last.
   * @throws DomainError `unavailable` when it cannot listen on an address; `invalid` for token keys that cannot be used
   */
  async run(signal: AbortSignal): Promise<void> {
    const { health_listen: healthListen } = this.#options.config.server;
    const frame = new DaemonFrame(this.#deps, {
      healthListen,
      hostCheck: { anyHost: true, allowHosts: [], isFixed: true },
    });
    const numbers = new ControllerMetrics(frame.metrics.registry);
    const time = new ClusterClock(this.#deps);
    const transport = new KubeTransport(this.#deps, {
      onAttempt: (facts) => numbers.attempted(facts),
      onDate: (date, ms) => time.answered(date, ms),
    });
    const life = new AbortController();
    const held = transport.run(life.signal);
    try {
      await this.#runOver(transport, { frame, numbers, time }, signal);
    } finally {
      life.abort(new Error("the controller ends"));
      await held;
    }
  }

  async #runOver(api: KubeTransport, { frame, numbers, time }: Instruments, signal: AbortSignal): Promise<void> {
    const { clock, logger, folder, env } = this.#deps;
    const { config, namespace, identity } = this.#options;
    const { settings, tokens } = config;
    const uri = controllerId(settings.trustDomain, namespace);
    const client = new OwnCertificate({ clock: time, logger }, { type: "client", uri });
    const onRenewed = (files: Parameters<ServerTlsFolder["write"]>[0]) => folder.write(files);
    const server = new OwnCertificate({ clock: time, logger, onRenewed }, { type: "server", hosts: hostsOf(config) });
    const ca = new CaCache(
      {
        clock: time,
        logger,
        secrets: new SecretClient(api),
        onChanged: (material) => {
          client.follow(material);
          server.follow(material);
          sessions.caChanged();
        },
      },
      settings.ca,
    );
    const elector: LeaseElector = new LeaseElector(
      { api, clock, logger, random: Math.random, lead: (stop) => sessions.lead(stop) },
      { lease: { namespace, name: LEASE_NAME, labels: OURS }, identity },
    );
    const assertLeads = () => elector.assertLeads();
    const writes = new FencedKube(api, assertLeads);
    const allowClients = clientRules(
      settings,
      tokens.keyFiles.map(({ rule }) => rule),
      namespace,
    );
    const deps = { api, writes, assertLeads, clock: time, logger, ca, tls: () => client.files, metrics: numbers, env };
    const sessions = new ControllerSessions(deps, { settings, allowClients, namespace });
    numbers.observe(sessions.facts(() => elector.leads));
    numbers.clock(() => time.aheadMs);
    await this.#serve(sessions, elector, [ca, server, client], { frame, time }, signal);
  }

  async #serve(
    sessions: ControllerSessions,
    elector: LeaseElector,
    certificates: readonly [ca: CaCache, server: OwnCertificate, ...Task[]],
    { frame, time }: Pick<Instruments, "frame" | "time">,
    signal: AbortSignal,
  ): Promise<void> {
    const serving = this.#serving(sessions, { frame, time }, signal);
    void frame.served(serving);
    frame.drainsWith(signal);
    const ended = new AbortController();
    const ready = { run: (stop: AbortSignal) => this.#untilReady(sessions, certificates[0], { serving, frame }, stop) };
    // Stopped last: open streams end while their sessions still run.
    const last = () => runTasks(ended.signal, [sessions.backend, ...certificates, frame, ready]);
    await runTasks(signal, [
      elector,
      {
        run: async (stop) => {
          try {
            await certificates[1].first(stop);
            await serving.run(stop);
          } finally {
            ended.abort(new Error("serving has ended"));
          }
        },
      },
      { run: last },
    ]);
  }

  /**
   * Ready once the cluster has been read, the CA is present, and the sidecars have had two seconds to answer; a replica
   * that does not lead becomes ready too.
   */
  async #untilReady(
    sessions: ControllerSessions,
    ca: CaCache,
    { serving, frame }: { readonly serving: TrustedServer; readonly frame: DaemonFrame },
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, logger } = this.#deps;
    while (!(sessions.isSynced && ca.isKnown)) await clock.sleep(READY_LOOK_MS, signal);
    const end = clock.monotonicMs() + CATCH_UP_MS;
    while (!sessions.isCaughtUp && clock.monotonicMs() < end) await clock.sleep(READY_LOOK_MS, signal);
    await serving.listening;
    frame.ready(BridgeService.typeName);
    logger.info("ready");
    await aborted(signal);
  }

  #serving(
    sessions: ControllerSessions,
    { frame: { health, metrics }, time: clock }: Pick<Instruments, "frame" | "time">,
    signal: AbortSignal,
  ): TrustedServer {
    const { logger, audit, folder, tracer } = this.#deps;
    const { server, settings, tokens } = this.#options.config;
    const { startsPerMinute, inputsPerMinute, maxInputBytes } = settings.sessions;
    const isServing = () => !signal.aborted;
    return bridgeServing(
      { clock, logger, health, metrics, audit, tracer },
      {
        listen: server.listen,
        tls: { dir: folder.path },
        tokens,
        routes: bridgeRoutes(
          { clock, backend: sessions.backend, audit, isServing },
          { startsPerMinute, inputsPerMinute, maxInputBytes },
        ),
        maxConnectionAgeMs: server.max_connection_age > 0 ? server.max_connection_age : undefined,
        graceMs: CALL_GRACE_MS,
      },
    );
  }
}

function hostsOf({ server }: OpenedConfig): readonly string[] {
  return server.names.length > 0 ? server.names : ["localhost", "127.0.0.1"];
}
