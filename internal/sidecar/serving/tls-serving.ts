import type { X509Certificate } from "node:crypto";
import type { Registry } from "prom-client";
import { namelessIdentities } from "../../auth/issuing-cas.ts";
import { controllerRule, type RoleRule, roleOf } from "../../auth/roles.ts";
import { refusalOf } from "../../auth/tls/admission.ts";
import { checkSession, identitiesOf } from "../../auth/tls/identities.ts";
import { TlsFolder, type TlsFolderOptions } from "../../auth/tls/tls-folder.ts";
import { type TlsInUse, tlsInUse } from "../../auth/tls/tls-in-use.ts";
import { TlsMetrics } from "../../auth/tls/tls-metrics.ts";
import { TokenLayer, type TokenLayerOptions } from "../../auth/token-layer.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError, errorText } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { runTasks, type Task } from "../../base/task-group.ts";
import type { Peer } from "../../rpc/port/peer.ts";
import type { Decisions } from "../../rpc/server/decisions.ts";
import type { HealthState } from "../../rpc/server/health.ts";
import type { RpcServer, RpcServerOptions } from "../../rpc/server/server.ts";
import { FREE_SERVICES, projectGate } from "./access.ts";

export interface TlsServingDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly health: HealthState;
  /** Hears when a stream ends with its token. */
  readonly decisions?: Pick<Decisions, "ended">;
  /** Makes the server, once there is a certificate to serve with. */
  readonly newServer: (
    trust: Required<Pick<RpcServerOptions, "tls" | "admit" | "admittedUntil" | "identify" | "gates" | "believes">>,
    rules: readonly RoleRule[],
    inUse: () => TlsInUse,
  ) => RpcServer;
}

export interface TlsServingOptions {
  readonly dir: string;
  readonly sessionId: string;
  /** Who may do what. Default: the controller of the certificate's own trust domain may do everything. */
  readonly roleRules?: readonly RoleRule[];
  /** Which CAs must have a current revocation list. Default: none. */
  readonly trust?: TlsFolderOptions["trust"];
  /**
   * Tokens that give roles too, and whose project must be `project`. Default: none; what callers show is not looked at.
   */
  readonly tokens?: Pick<TokenLayerOptions, "keyFiles" | "audience"> & { readonly project: string };
}

/**
 * The RPC server of a sidecar with a TLS folder. It begins to listen once the folder can be used, uses what is put
 * there later, and asks of every connection, again whenever that changes, whether its owner is still welcome. While
 * what is in use has expired, nothing is ready.
 */
export class TlsServing implements Task {
  readonly #deps: TlsServingDeps;
  readonly #options: TlsServingOptions;
  readonly #folder: TlsFolder;
  readonly #tokens: TokenLayer | undefined;
  #server: RpcServer | undefined;

  constructor(deps: TlsServingDeps, options: TlsServingOptions) {
    const { clock, logger, registry, health, decisions } = deps;
    this.#deps = deps;
    this.#options = options;
    const metrics = new TlsMetrics(registry);
    this.#folder = new TlsFolder(
      {
        clock,
        logger,
        onLoaded: ({ files }) => {
          this.#server?.setTls(files);
          metrics.loaded();
        },
        onRefused: (reason) => metrics.refused(reason),
        onUsable: (usable) => health.hinder("the certificate has expired", !usable),
      },
      {
        dir: options.dir,
        side: "server",
        check: ({ leaf }) => checkSession(leaf, options.sessionId),
        ...(options.trust && { trust: options.trust }),
      },
    );
    metrics.observe(() => this.#folder.current);
    const { tokens } = options;
    if (tokens === undefined) return;
    const layer = { ...tokens, required: false, freeServices: FREE_SERVICES };
    const tls = () => this.#folder.current;
    this.#tokens = new TokenLayer({ clock, logger, tls, ...(decisions && { decisions }) }, layer);
  }

  async run(signal: AbortSignal): Promise<void> {
    const serving: Task = { run: (stop) => this.#serve(stop) };
    await runTasks(signal, [this.#folder, serving, ...(this.#tokens ? [this.#tokens] : [])]);
  }

  async #serve(signal: AbortSignal): Promise<void> {
    const tls = await this.#folder.first(signal);
    const { files, leaf } = tls;
    // They were good at the first start; a file that cannot be used now is taken when it can.
    await this.#tokens?.load(tls).catch((err: unknown) => {
      this.#deps.logger.warn({ err: errorText(err) }, "token keys cannot be used yet");
    });
    const rules = this.#options.roleRules ?? controllerRule(identitiesOf(leaf));
    const admit: RpcServerOptions["admit"] = (...caller) => this.#admit(...caller);
    const admittedUntil = (certificate: X509Certificate) =>
      this.#folder.current?.trust.notAfter(certificate) ?? Number.NEGATIVE_INFINITY;
    const identify = (certificate: X509Certificate) => {
      const trust = this.#folder.current?.trust;
      return trust === undefined ? [] : namelessIdentities(certificate, trust, this.#deps.clock.now());
    };
    const controllers = controllerRule(identitiesOf(leaf));
    const believes = (peer: Peer) => peer.type === "certificate" && roleOf(peer.identities, controllers) !== undefined;
    this.#server = this.#deps.newServer(
      { tls: files, admit, admittedUntil, identify, gates: this.#gates(), believes },
      rules,
      () => tlsInUse(this.#folder.current),
    );
    await this.#server.run(signal);
  }

  #gates(): NonNullable<RpcServerOptions["gates"]> {
    const { tokens } = this.#options;
    return this.#tokens && tokens ? [this.#tokens.gate, projectGate(tokens.project)] : [];
  }

  #admit(certificate: X509Certificate, isNew: boolean): DomainError | undefined {
    const tls = this.#folder.current;
    if (tls === undefined) return new DomainError("unavailable", "no certificate to serve with");
    return refusalOf({ certificate, isNew }, tls.trust, this.#deps.clock.now());
  }
}
