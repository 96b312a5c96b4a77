import { AgentTokens } from "../../internal/auth/agent-token.ts";
import type { Clock } from "../../internal/base/clock.ts";
import type { Logger } from "../../internal/base/logger.ts";
import { runTasks } from "../../internal/base/task-group.ts";
import type { BeadDeps } from "../../internal/beads/bead.ts";
import { BeadWriter } from "../../internal/controller/beads/bead-writer.ts";
import type { CaCache } from "../../internal/controller/certificates/ca-cache.ts";
import { CaRotator } from "../../internal/controller/certificates/ca-rotator.ts";
import { CertificateReconciler } from "../../internal/controller/certificates/certificate-reconciler.ts";
import { CertificateRenewal } from "../../internal/controller/certificates/certificate-renewal.ts";
import { ObjectEvents } from "../../internal/controller/certificates/object-events.ts";
import { PodNotesClient } from "../../internal/controller/certificates/pod-notes-client.ts";
import { RotationReports } from "../../internal/controller/certificates/rotation-reports.ts";
import { SecretClient } from "../../internal/controller/certificates/secret-client.ts";
import { SessionSecrets } from "../../internal/controller/certificates/session-secrets.ts";
import type { ShownVersionOf } from "../../internal/controller/certificates/shown-secrets.ts";
import { TokenSecrets } from "../../internal/controller/certificates/token-secrets.ts";
import { PodClient } from "../../internal/controller/pods/pod-client.ts";
import { SessionPods } from "../../internal/controller/pods/session-pods.ts";
import type { SessionRecord } from "../../internal/controller/pods/session-record.ts";
import type { ClientRules, ControllerSettings } from "../../internal/controller/pods/settings.ts";
import { SidecarPool } from "../../internal/controller/pods/sidecar-pool.ts";
import type { ControllerFacts, ControllerMetrics } from "../../internal/controller/sessions/controller-metrics.ts";
import { MissingSessions } from "../../internal/controller/sessions/missing-sessions.ts";
import { PodSessions } from "../../internal/controller/sessions/pod-sessions.ts";
import { ProviderChecks } from "../../internal/controller/sessions/provider-checks.ts";
import { SessionKeeper } from "../../internal/controller/sessions/session-keeper.ts";
import { SessionLiveness } from "../../internal/controller/sessions/session-liveness.ts";
import { SessionMounts } from "../../internal/controller/sessions/session-mounts.ts";
import { SessionOpening } from "../../internal/controller/sessions/session-opening.ts";
import { SessionStarter } from "../../internal/controller/sessions/session-starter.ts";
import { SessionStopper } from "../../internal/controller/sessions/session-stopper.ts";
import { StartLimits } from "../../internal/controller/sessions/start-limits.ts";
import { readNamedFileSync } from "../../internal/files/named-file.ts";
import type { KubeApi } from "../../internal/kube/kube-api.ts";
import { runCommand } from "../../internal/process/run-command.ts";
import type { TlsMaterial } from "../../internal/rpc/common/tls.ts";

export interface ControllerSessionsDeps {
  readonly api: KubeApi;
  /** The API for the leader's writes; it fails while this replica does not lead. */
  readonly writes: KubeApi;
  /**
   * Call it before each write of the leader that does not use `writes`.
   * @throws DomainError while this replica does not lead
   */
  readonly assertLeads: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ca: CaCache;
  readonly tls: () => TlsMaterial | undefined;
  readonly metrics: ControllerMetrics;
  /** The environment of `bd`. */
  readonly env: BeadDeps["env"];
}

export interface ControllerSessionsOptions {
  readonly settings: ControllerSettings;
  readonly allowClients: ClientRules;
  /** The controllers' namespace. */
  readonly namespace: string;
}

/** Builds the parts that make pods into sessions: one set with the writes of any replica, one with the leader's. */
export class ControllerSessions {
  readonly backend: PodSessions;
  readonly #pods: SessionPods;
  readonly #keeper: SessionKeeper;
  readonly #secrets: SessionSecrets;
  readonly #rotator: CaRotator;
  readonly #renewal: CertificateRenewal;
  readonly #beads: readonly BeadWriter[];

  constructor(deps: ControllerSessionsDeps, { settings, allowClients, namespace }: ControllerSessionsOptions) {
    const { api, writes, assertLeads: assertMayWrite, clock, logger, tls, ca, metrics, env } = deps;
    const { namespaces: bindings, sessions, trustDomain } = settings;
    const { retentionMs, startTimeoutMs } = sessions;
    const random = Math.random;
    const { sessionTokens, threads } = settings;
    const hasTokens = sessionTokens !== undefined;
    const roles = hasTokens ? [sessionTokens.role, ...sessionTokens.roles] : [];
    const pods = new SessionPods({ api, clock, logger, random }, bindings);
    const pool = new SidecarPool({ tls }, { trustDomain });
    const own = this.#parts(api, pods, pool, deps, settings);
    const starting = { bindings, retentionMs, allowClients, hasTokens, roles, threadsUrl: threads?.url };
    const starter = new SessionStarter({ pods, ...own }, starting);
    const providers = new ProviderChecks({ clock, client: own.client }, starting);
    const liveness: ConstructorParameters<typeof PodSessions>[0]["liveness"] = (onChanged) =>
      new SessionLiveness({
        ...{ clock, logger, pods, pool, onChanged },
        onEnded: (record, signal) => own.stopper.noteEnd(record, signal),
      });
    const mounts: ConstructorParameters<typeof PodSessions>[0]["mounts"] = (onChanged) =>
      new SessionMounts({ clock, logger, pods, secrets: new SecretClient(api), onChanged });
    this.#pods = pods;
    this.backend = new PodSessions(
      {
        clock,
        logger,
        pods,
        pool,
        starter,
        stopper: own.stopper,
        liveness,
        mounts,
        missing: new MissingSessions({ clock, pods, client: own.client }, bindings),
        providers,
        onStart: (how) => metrics.started(how),
      },
      { startTimeoutMs },
    );
    const onChanged = (record: SessionRecord, delayMs: number) => keeper.lookAt(record, delayMs);
    const secrets = new SessionSecrets({ api, clock, logger, random, pods, onChanged }, bindings);
    const shown: ShownVersionOf = (namespace, name) => secrets.shown(namespace, name);
    const leader = this.#parts(writes, pods, pool, deps, settings, shown);
    const keeper = new SessionKeeper({ clock, logger, random, pods, ...leader }, { retentionMs });
    this.#rotator = new CaRotator(
      {
        clock,
        logger,
        secrets: new SecretClient(writes),
        reports: new RotationReports({ clock, pods, secrets, pool }),
        isSynced: () => pods.isSynced && secrets.isSynced,
        onWritten: () => ca.lookNow(),
        events: new ObjectEvents({ api: writes, clock, logger }),
      },
      settings.ca,
    );
    this.#renewal = new CertificateRenewal(
      { clock, logger, secrets: new SecretClient(writes), ca: () => (ca.isKnown ? ca.get() : undefined) },
      { trustDomain, namespace, secrets: settings.secrets },
    );
    [this.#keeper, this.#secrets] = [keeper, secrets];
    const { bd } = settings;
    const beads = bd && new BeadWriter({ clock, logger, pods, bd: beadProgram(bd, env), assertMayWrite });
    this.#beads = beads === undefined ? [] : [beads];
  }

  get isSynced(): boolean {
    return this.#pods.isSynced;
  }

  /** True once the sidecar of each running session has been asked. Until then, its session is reported as starting. */
  get isCaughtUp(): boolean {
    return this.backend.isCaughtUp;
  }

  /** The leader's work. */
  lead(signal: AbortSignal): Promise<void> {
    return runTasks(signal, [this.#keeper, this.#secrets, this.#rotator, this.#renewal, ...this.#beads]);
  }

  caChanged(): void {
    this.#keeper.lookAtAll();
    this.#rotator.look();
    this.#renewal.look();
  }

  /** The state of this replica, for its metrics. */
  facts(leads: () => boolean): ControllerFacts {
    return {
      leads,
      sessions: () => this.backend.all(),
      queueDepth: () => this.#keeper.depth,
      rotation: () => (leads() ? this.#rotator.status : undefined),
      earliestEnd: () => this.#secrets.earliestEnd,
      watches: () => ({ pods: this.#pods.counts, secrets: this.#secrets.counts }),
      staleMs: () => this.#pods.staleMs,
    };
  }

  #parts(
    api: KubeApi,
    pods: SessionPods,
    pool: SidecarPool,
    { clock, logger, ca, metrics }: ControllerSessionsDeps,
    { namespaces: bindings, sessions, trustDomain, sessionTokens, threads }: ControllerSettings,
    shown: ShownVersionOf = () => undefined,
  ) {
    const client = new PodClient(api);
    const limits = new StartLimits({ clock, pods, client, bindings }, sessions);
    const [secrets, notes] = [new SecretClient(api), new PodNotesClient(api)];
    const certificates = new CertificateReconciler(
      { secrets, notes, ca: () => ca.get(), clock, logger, onIssued: (why) => metrics.issued(why), shown },
      { trustDomain },
    );
    const rules = sessionTokens && new AgentTokens({ clock }, sessionTokens);
    const { caPath } = threads ?? {};
    const serverCa = threads && (() => (caPath === undefined ? ca.get().bundle : readNamedFileSync(caPath)));
    const tokens = rules && new TokenSecrets({ secrets, tokens: rules, clock, logger, shown, serverCa });
    const opening = new SessionOpening({ clock, client, limits, certificates, tokens });
    return { client, limits, opening, stopper: new SessionStopper({ clock, logger, client, pool }) };
  }
}

const BD_TIMEOUT_MS = 10_000;

function beadProgram(
  { command, workdir = process.cwd() }: NonNullable<ControllerSettings["bd"]>,
  env: BeadDeps["env"],
): BeadDeps {
  return { run: runCommand, command, cwd: workdir, env, timeoutMs: BD_TIMEOUT_MS };
}
