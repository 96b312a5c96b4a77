import type { Clock } from "../../internal/base/clock.ts";
import type { Logger } from "../../internal/base/logger.ts";
import type { CaCache } from "../../internal/controller/ca-cache.ts";
import { CertificateReconciler } from "../../internal/controller/certificate-reconciler.ts";
import { PodClient } from "../../internal/controller/pod-client.ts";
import { PodNotesClient } from "../../internal/controller/pod-notes-client.ts";
import { PodSessions } from "../../internal/controller/pod-sessions.ts";
import { SecretClient } from "../../internal/controller/secret-client.ts";
import { SessionKeeper } from "../../internal/controller/session-keeper.ts";
import { SessionLiveness } from "../../internal/controller/session-liveness.ts";
import { SessionOpening } from "../../internal/controller/session-opening.ts";
import { SessionPods } from "../../internal/controller/session-pods.ts";
import { SessionStarter } from "../../internal/controller/session-starter.ts";
import { SessionStopper } from "../../internal/controller/session-stopper.ts";
import type { ControllerSettings } from "../../internal/controller/settings.ts";
import { SidecarPool } from "../../internal/controller/sidecar-pool.ts";
import { StartLimits } from "../../internal/controller/start-limits.ts";
import type { KubeApi } from "../../internal/kube/kube-api.ts";
import type { TlsMaterial } from "../../internal/rpc/common/tls.ts";

export interface ControllerSessionsDeps {
  readonly api: KubeApi;
  /** For the leader's writes. */
  readonly writes: KubeApi;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ca: CaCache;
  readonly tls: () => TlsMaterial | undefined;
}

export interface ControllerSessionsOptions {
  readonly settings: ControllerSettings;
  readonly allowClients: readonly string[];
}

/** The parts that make pods into sessions, put together: once with the writes of any replica, once with the leader's. */
export class ControllerSessions {
  readonly backend: PodSessions;
  readonly #pods: SessionPods;
  readonly #keeper: SessionKeeper;

  constructor(deps: ControllerSessionsDeps, { settings, allowClients }: ControllerSessionsOptions) {
    const { api, writes, clock, logger, tls } = deps;
    const { namespaces: bindings, sessions, trustDomain } = settings;
    const { retentionMs, startTimeoutMs } = sessions;
    const random = Math.random;
    const pods = new SessionPods({ api, clock, logger, random }, bindings);
    const pool = new SidecarPool({ tls }, { trustDomain });
    const own = this.#parts(api, pods, pool, deps, settings);
    const starter = new SessionStarter({ pods, ...own }, { bindings, retentionMs, allowClients });
    const liveness: ConstructorParameters<typeof PodSessions>[0]["liveness"] = (onConfirmed) =>
      new SessionLiveness({ clock, logger, pods, pool, onConfirmed });
    this.#pods = pods;
    this.backend = new PodSessions(
      { clock, logger, pods, pool, starter, stopper: own.stopper, liveness },
      { bindings, startTimeoutMs },
    );
    const leader = this.#parts(writes, pods, pool, deps, settings);
    this.#keeper = new SessionKeeper({ clock, logger, random, pods, ...leader }, { retentionMs });
  }

  get isSynced(): boolean {
    return this.#pods.isSynced;
  }

  /** The leader's work. */
  lead(signal: AbortSignal): Promise<void> {
    return this.#keeper.run(signal);
  }

  lookAtAll(): void {
    this.#keeper.lookAtAll();
  }

  #parts(
    api: KubeApi,
    pods: SessionPods,
    pool: SidecarPool,
    { clock, logger, ca }: ControllerSessionsDeps,
    { namespaces: bindings, sessions, trustDomain }: ControllerSettings,
  ) {
    const client = new PodClient(api);
    const limits = new StartLimits({ pods, client, bindings }, sessions);
    const [secrets, notes] = [new SecretClient(api), new PodNotesClient(api)];
    const certificates = new CertificateReconciler(
      { secrets, notes, ca: () => ca.get(), clock, logger },
      { trustDomain },
    );
    const opening = new SessionOpening({ clock, client, limits, certificates });
    return { client, limits, opening, stopper: new SessionStopper({ clock, logger, client, pool }) };
  }
}
