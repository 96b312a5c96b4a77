import type { X509Certificate } from "node:crypto";
import type { HandlerContext } from "@connectrpc/connect";
import type { AuditLog } from "../../auth/audit-log.ts";
import { namelessIdentities } from "../../auth/issuing-cas.ts";
import { refusalOf } from "../../auth/tls/admission.ts";
import { TlsFolder, type TlsFolderOptions } from "../../auth/tls/tls-folder.ts";
import { TlsMetrics } from "../../auth/tls/tls-metrics.ts";
import { TokenLayer, type TokenLayerOptions } from "../../auth/token-layer.ts";
import { raceSignal } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { runTasks, type Task } from "../../base/task-group.ts";
import type { Tracer } from "../../base/tracing.ts";
import { BridgeService } from "../../gen/bridge/v1/bridge_pb.ts";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import type { ListenAddress } from "../../rpc/port/listen.ts";
import type { Routes } from "../../rpc/server/adapter.ts";
import { type HealthState, healthRoutes } from "../../rpc/server/health.ts";
import type { Metrics } from "../../rpc/server/metrics.ts";
import { reflectionRoutes } from "../../rpc/server/reflection.ts";
import { RpcServer, type RpcServerOptions } from "../../rpc/server/server.ts";
import { traceCalls } from "../../rpc/server/trace-calls.ts";
import { bridgeGate } from "./bridge-gate.ts";

export interface BridgeServingDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly health: HealthState;
  readonly metrics: Metrics;
  readonly audit: AuditLog;
  /** Absent: a caller's trace ends here. */
  readonly tracer?: Tracer;
}

export interface BridgeServingOptions {
  readonly listen: ListenAddress;
  /** The server's certificate, the CAs of its callers, and their revocation lists. */
  readonly tls: TlsFolderOptions["dir"];
  readonly trust?: TlsFolderOptions["trust"];
  readonly tokens: Omit<TokenLayerOptions, "required" | "freeServices">;
  /** BridgeService; `grpc.health.v1` and reflection are served beside it. */
  readonly routes: Routes;
  /** Calls of BridgeService wait for this. Default: they do not wait. */
  readonly ready?: Promise<void>;
  /** See `SessionLimits`. */
  readonly maxConnectionAgeMs?: number | undefined;
  /** How long calls may continue after shutdown begins. */
  readonly graceMs: number;
}

type Trust = Pick<RpcServerOptions, "admit" | "admittedUntil" | "identify">;

/**
 * BridgeService behind both layers: a client certificate and a token for every RPC, of every service. It listens once
 * the TLS files and the token keys are read, and follows them from then on; the connections that are open are looked at
 * again whenever they change.
 */
export class BridgeServing implements Task {
  readonly #deps: BridgeServingDeps;
  readonly #options: BridgeServingOptions;
  readonly #folder: TlsFolder;
  readonly #tokens: TokenLayer;
  readonly #listening = Promise.withResolvers<ListenAddress>();
  #server: RpcServer | undefined;

  constructor(deps: BridgeServingDeps, options: BridgeServingOptions) {
    const { clock, logger, health, metrics, audit } = deps;
    const { tls, trust, tokens } = options;
    this.#deps = deps;
    this.#options = options;
    this.#listening.promise.catch(() => {}); // `run` throws the same
    const counters = new TlsMetrics(metrics.registry);
    this.#folder = new TlsFolder(
      {
        clock,
        logger,
        onLoaded: ({ files }) => {
          this.#server?.setTls(files);
          counters.loaded();
        },
        onRefused: (reason) => counters.refused(reason),
        onUsable: (usable) => health.hinder("the certificate has expired", !usable),
      },
      { dir: tls, side: "server", ...(trust && { trust }) },
    );
    counters.observe(() => this.#folder.current);
    const layer = { ...tokens, required: true, freeServices: new Set<string>() };
    this.#tokens = new TokenLayer({ clock, logger, tls: () => this.#folder.current, decisions: audit }, layer);
  }

  /** Where it listens; rejects when it never will. */
  get listening(): Promise<ListenAddress> {
    return this.#listening.promise;
  }

  /** The revocation lists in use (PEM); undefined: none. */
  get revocationLists(): string | undefined {
    return this.#folder.current?.files.crl;
  }

  /** @throws DomainError `invalid` for token keys that cannot be used at the start; as `RpcServer.run` */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await runTasks(signal, [this.#folder, { run: (stop) => this.#serve(stop) }]);
    } catch (err) {
      this.#listening.reject(err);
      throw err;
    }
  }

  async #serve(signal: AbortSignal): Promise<void> {
    const { clock, logger, health, metrics, audit, tracer } = this.#deps;
    const { listen, routes, maxConnectionAgeMs, graceMs } = this.#options;
    const tls = await this.#folder.first(signal);
    await this.#tokens.load(tls);
    const server = new RpcServer(
      { clock, logger, health, metrics, decisions: audit },
      {
        ...listen,
        tls: tls.files,
        ...this.#trust(),
        gates: [this.#tokens.gate, bridgeGate, (context) => this.#untilReady(context)],
        routes: (router) => {
          routes(router);
          healthRoutes(health)(router);
          reflectionRoutes([BridgeService, Health])(router);
        },
        ...(tracer && { interceptors: [traceCalls(tracer)] }),
        hostCheck: { anyHost: true, allowHosts: [] },
        graceMs,
        limits: { ...(maxConnectionAgeMs !== undefined && { maxConnectionAgeMs }) },
      },
    );
    this.#server = server;
    server.listening.then(this.#listening.resolve, this.#listening.reject);
    await runTasks(signal, [server, this.#tokens]);
  }

  async #untilReady({ service, signal }: HandlerContext): Promise<void> {
    const { ready } = this.#options;
    if (ready !== undefined && service.typeName === BridgeService.typeName) await raceSignal(ready, signal);
  }

  #trust(): Required<Trust> {
    return {
      admit: (certificate, isNew) => {
        const tls = this.#folder.current;
        if (tls === undefined) return new DomainError("unavailable", "no certificate to serve with");
        return refusalOf({ certificate, isNew }, tls.trust, this.#deps.clock.now());
      },
      admittedUntil: (certificate: X509Certificate) =>
        this.#folder.current?.trust.notAfter(certificate) ?? Number.NEGATIVE_INFINITY,
      identify: (certificate) => {
        const trust = this.#folder.current?.trust;
        return trust === undefined ? [] : namelessIdentities(certificate, trust, this.#deps.clock.now());
      },
    };
  }
}
