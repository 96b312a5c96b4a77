import type { X509Certificate } from "node:crypto";
import type { DescService } from "@bufbuild/protobuf";
import type { Clock } from "../../base/clock.ts";
import { DomainError, errorText } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { runTasks, type Task } from "../../base/task-group.ts";
import type { Tracer } from "../../base/tracing.ts";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import type { CheckedTls } from "../../pki/tls-files.ts";
import type { ListenAddress } from "../../rpc/port/listen.ts";
import type { Peer } from "../../rpc/port/peer.ts";
import { plainServing } from "../../rpc/routes/plain-serving.ts";
import type { PlainOptions } from "../../rpc/routes/route.ts";
import type { Routes } from "../../rpc/server/adapter.ts";
import type { Decisions } from "../../rpc/server/decisions.ts";
import type { Gate } from "../../rpc/server/guard.ts";
import { type HealthState, healthRoutes } from "../../rpc/server/health.ts";
import type { HostCheck } from "../../rpc/server/host-check.ts";
import type { Metrics } from "../../rpc/server/metrics.ts";
import { reflectionRoutes } from "../../rpc/server/reflection.ts";
import { RpcServer, type RpcServerOptions } from "../../rpc/server/server.ts";
import { traceCalls } from "../../rpc/server/trace-calls.ts";
import { identitiesByCommonName } from "../issuing-cas.ts";
import { admissionRefusal } from "../tls/admission.ts";
import { TlsFolder, type TlsFolderOptions } from "../tls/tls-folder.ts";
import { TlsMetrics } from "../tls/tls-metrics.ts";
import { TokenLayer, type TokenLayerOptions } from "../token-layer.ts";
import type { VerifiedToken } from "../token-verifier.ts";

export interface TrustedServerDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly health: HealthState;
  readonly metrics: Metrics;
  /** Receives each decision about a caller. Default: none. */
  readonly audit?: Decisions | undefined;
  /** Absent: the caller's trace ends here. */
  readonly tracer?: Tracer;
}

/** The server's certificate, the CAs of its callers, and their revocation lists. */
export type TlsPlace = Pick<TlsFolderOptions, "dir" | "trust" | "check">;

export interface ServerTokenOptions extends Omit<TokenLayerOptions, "clientCertificate"> {
  /** Start without usable keys and take them when they can be used, instead of ending `run`. Default false. */
  readonly mayWait?: boolean;
}

/** Rules that depend on the certificate with which the server starts. */
export interface CallRules
  extends Pick<RpcServerOptions, "believes" | "hasRole" | "isOpenToAll" | "shareOf">,
    Partial<Pick<RpcServerOptions, "errorFields" | "hostCheck">> {
  /** Services in addition to health and reflection. */
  readonly routes: Routes;
  /** Run in order, after the checks of certificate, share, host and token. */
  readonly gates: readonly Gate[];
}

export interface TrustedServerOptions {
  readonly listen: ListenAddress;
  /** Undefined: plaintext, for a unix socket or loopback. */
  readonly tls: TlsPlace | undefined;
  /** Optional: a caller without one needs a token; a certificate that does not verify is refused. Default: required. */
  readonly clientCertificate?: "required" | "optional";
  /** Undefined: tokens are not checked. */
  readonly tokens: ServerTokenOptions | undefined;
  /** Services that reflection lists in addition to `grpc.health.v1`. */
  readonly services: readonly DescService[];
  /** Plain HTTP routes and WebSockets: subject to the same checks as RPCs, and ended like them. */
  readonly plain?: PlainOptions;
  /** Called once, with the certificate with which the server starts; undefined: plaintext. */
  readonly rules: (tls: CheckedTls | undefined) => CallRules;
  readonly hostCheck: HostCheck;
  /** See `SessionLimits`. */
  readonly maxConnectionAgeMs?: number | undefined;
  /** How long calls may continue after shutdown begins. */
  readonly graceMs: number;
  readonly limits?: RpcServerOptions["limits"];
}

type Trust = Pick<RpcServerOptions, "tls" | "admit" | "admittedUntil" | "identify">;

/**
 * A server that authenticates and authorizes callers. Every RPC, plain HTTP route and WebSocket passes these checks in
 * order: the client's certificate (validity, revocation), the caller's share, the Host check, the token, and the
 * daemon's gates; each decision is audited once. An admitted call ends when its token or certificate expires, when its
 * certificate is revoked, and when the server stops.
 *
 * It listens once the TLS files and the token keys are read, and follows their changes; while the certificate in use
 * has expired, it reports not ready.
 *
 *     const server = new TrustedServer(
 *       { clock, logger, health, metrics, audit },
 *       {
 *         listen: { host: "127.0.0.1", port: 9447 },
 *         tls: { dir: "/etc/threads/tls" },
 *         clientCertificate: "optional",
 *         tokens: { keyFiles, audience: "threads", required: true, freeServices: new Set(), readClaims },
 *         services: [ThreadsService],
 *         plain: { routes: [{ path: "/v1/mcp", methods: ["POST"], handle: (request, call) => answer(request) }] },
 *         rules: () => ({ routes, gates: [] }),
 *         hostCheck: { anyHost: true, allowHosts: [] },
 *         graceMs: 2000,
 *       },
 *     );
 *     await runTasks(signal, [server]);
 */
export class TrustedServer implements Task {
  readonly #deps: TrustedServerDeps;
  readonly #options: TrustedServerOptions;
  readonly #folder: TlsFolder | undefined;
  readonly #tokens: TokenLayer | undefined;
  readonly #listening = Promise.withResolvers<ListenAddress>();
  #server: RpcServer | undefined;

  constructor(deps: TrustedServerDeps, options: TrustedServerOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#listening.promise.catch(() => {}); // `run` throws the same error
    this.#folder = options.tls && this.#follow(options.tls);
    this.#tokens = options.tokens && this.#tokenLayer(options.tokens);
  }

  /** The address it listens on; rejects if `run` fails. */
  get listening(): Promise<ListenAddress> {
    return this.#listening.promise;
  }

  /** The TLS files in use; undefined: not loaded yet, or plaintext. */
  get tls(): CheckedTls | undefined {
    return this.#folder?.current;
  }

  /** As `TokenLayer.renew`; does nothing without tokens. */
  renew(connection: Peer, token: VerifiedToken): void {
    this.#tokens?.renew(connection, token);
  }

  /** True if the key that verified a token is still in use. For services that end their calls themselves. */
  holds(token: VerifiedToken): boolean {
    return this.#tokens?.holds(token) ?? false;
  }

  /** @throws DomainError `invalid` if the token keys cannot be used at the start; as `RpcServer.run` */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await runTasks(signal, [...(this.#folder ? [this.#folder] : []), { run: (stop) => this.#serve(stop) }]);
    } catch (err) {
      this.#listening.reject(err);
      throw err;
    }
  }

  async #serve(signal: AbortSignal): Promise<void> {
    const tls = await this.#folder?.first(signal);
    await this.#loadTokens(tls);
    const server = this.#newServer(tls);
    this.#server = server;
    server.listening.then(this.#listening.resolve, this.#listening.reject);
    await runTasks(signal, [server, ...(this.#tokens ? [this.#tokens] : [])]);
  }

  async #loadTokens(tls: CheckedTls | undefined): Promise<void> {
    try {
      await this.#tokens?.load(tls);
    } catch (err) {
      if (this.#options.tokens?.mayWait !== true) throw err;
      this.#deps.logger.warn({ err: errorText(err) }, "token keys cannot be used yet");
    }
  }

  #newServer(tls: CheckedTls | undefined): RpcServer {
    const { clock, logger, health, metrics, audit, tracer } = this.#deps;
    const { listen, services, plain, rules, hostCheck, maxConnectionAgeMs, graceMs, limits } = this.#options;
    const { routes, gates, ...more } = rules(tls);
    return new RpcServer(
      { clock, logger, health, metrics, decisions: audit },
      {
        ...listen,
        ...(tls && this.#trust(tls)),
        hostCheck,
        ...more,
        gates: [...(this.#tokens ? [this.#tokens.gate] : []), ...gates],
        routes: (router) => {
          routes(router);
          healthRoutes(health)(router);
          reflectionRoutes([...services, Health])(router);
        },
        plain: plain && plainServing(clock, plain),
        interceptors: tracer && [traceCalls(tracer)],
        graceMs,
        // An undefined age would replace the default one.
        limits: { ...limits, ...(maxConnectionAgeMs !== undefined && { maxConnectionAgeMs }) },
      },
    );
  }

  #follow(place: TlsPlace): TlsFolder {
    const { clock, logger, health, metrics } = this.#deps;
    const counters = new TlsMetrics(metrics.registry);
    const folder = new TlsFolder(
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
      { ...place, side: "server" },
    );
    counters.observe(() => folder.current);
    return folder;
  }

  #tokenLayer({ mayWait, ...tokens }: ServerTokenOptions): TokenLayer {
    const { clock, logger, audit } = this.#deps;
    const { tls, clientCertificate = tls === undefined ? "optional" : "required" } = this.#options;
    const deps = { clock, logger, tls: () => this.tls, decisions: audit };
    return new TokenLayer(deps, { ...tokens, clientCertificate });
  }

  #trust({ files }: CheckedTls): Trust & Pick<RpcServerOptions, "clientCertificate" | "hasRole"> {
    const { clock } = this.#deps;
    const isOptional = this.#options.clientCertificate === "optional";
    return {
      tls: files,
      ...(isOptional && { clientCertificate: "optional", hasRole: ({ type }) => type === "certificate" }),
      admit: (certificate, isNew) => {
        if (this.tls === undefined) return new DomainError("unavailable", "no certificate to serve with");
        return admissionRefusal({ certificate, isNew }, this.tls.trust, clock.now());
      },
      admittedUntil: (certificate: X509Certificate) =>
        this.tls?.trust.notAfter(certificate) ?? Number.NEGATIVE_INFINITY,
      identify: (certificate) =>
        this.tls === undefined ? [] : identitiesByCommonName(certificate, this.tls.trust, clock.now()),
    };
  }
}
