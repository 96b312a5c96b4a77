import type { X509Certificate } from "node:crypto";
import type { Registry } from "prom-client";
import { refusalOf } from "../../auth/admission.ts";
import { identitiesOf, sessionsOf } from "../../auth/identities.ts";
import { controllerRule, type RoleRule } from "../../auth/roles.ts";
import { TlsFolder } from "../../auth/tls-folder.ts";
import { TlsMetrics } from "../../auth/tls-metrics.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { runTasks, type Task } from "../../base/task-group.ts";
import type { HealthState } from "../../rpc/server/health.ts";
import type { RpcServer, RpcServerOptions } from "../../rpc/server/server.ts";

export interface TlsServingDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly health: HealthState;
  /** Makes the server, once there is a certificate to serve with. */
  readonly newServer: (
    trust: Required<Pick<RpcServerOptions, "tls" | "admit" | "admittedUntil">>,
    rules: readonly RoleRule[],
  ) => RpcServer;
}

export interface TlsServingOptions {
  readonly dir: string;
  readonly sessionId: string;
  /** Who may do what. Default: the controller of the certificate's own trust domain may do everything. */
  readonly roleRules?: readonly RoleRule[];
}

/**
 * The RPC server of a sidecar with a TLS folder. It begins to listen once the folder can be used, uses what is put there
 * later, and asks of every connection, again whenever that changes, whether its owner is still welcome. While what is in
 * use has expired, nothing is ready.
 */
export class TlsServing implements Task {
  readonly #deps: TlsServingDeps;
  readonly #options: TlsServingOptions;
  readonly #folder: TlsFolder;
  #server: RpcServer | undefined;

  constructor(deps: TlsServingDeps, options: TlsServingOptions) {
    const { clock, logger, registry, health } = deps;
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
      { dir: options.dir, side: "server", check: ({ leaf }) => checkSession(leaf, options.sessionId) },
    );
    metrics.observe(() => this.#folder.current);
  }

  async run(signal: AbortSignal): Promise<void> {
    await runTasks(signal, [this.#folder, { run: (stop) => this.#serve(stop) }]);
  }

  async #serve(signal: AbortSignal): Promise<void> {
    const { files, leaf } = await this.#folder.first(signal);
    const rules = this.#options.roleRules ?? controllerRule(identitiesOf(leaf));
    const admit: RpcServerOptions["admit"] = (...caller) => this.#admit(...caller);
    const admittedUntil = (certificate: X509Certificate) =>
      this.#folder.current?.trust.notAfter(certificate) ?? Number.NEGATIVE_INFINITY;
    this.#server = this.#deps.newServer({ tls: files, admit, admittedUntil }, rules);
    await this.#server.run(signal);
  }

  #admit(certificate: X509Certificate, uris: readonly string[], isNew: boolean): DomainError | undefined {
    const tls = this.#folder.current;
    if (tls === undefined) return new DomainError("unavailable", "no certificate to serve with");
    return refusalOf({ certificate, uris, isNew }, tls.trust, this.#deps.clock.now());
  }
}

/** Secrets can be mixed up: a certificate that names a session is used by that one only. */
function checkSession(leaf: X509Certificate, sessionId: string): void {
  const named = sessionsOf(leaf);
  if (named.length === 0 || named.includes(sessionId)) return;
  const message = `tls.crt is of session ${JSON.stringify(named[0])}, and this one is ${JSON.stringify(sessionId)}`;
  throw new DomainError("invalid", message, { fields: { reason: "identity" } });
}
