import { X509Certificate } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { Task } from "../../base/task-group.ts";
import { newKeyPair, privateKeyPem } from "../../pki/key-pair.ts";
import { newLeaf } from "../../pki/leaf.ts";
import type { TlsFiles } from "../../pki/tls-files.ts";
import { type IssuingCa, issuingTime, renewalTime } from "./session-certificate.ts";

export interface OwnCertificateDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with each new set of files. If it throws, a new set is created and it is called again. */
  readonly onRenewed?: (files: TlsFiles) => void | Promise<void>;
}

/** The purpose of the certificate. */
export type OwnNames =
  /** For calls to sidecars. */
  | { readonly type: "client"; readonly uri: string }
  /** For the controller's own port: host names and addresses, at least one. */
  | { readonly type: "server"; readonly hosts: readonly string[] };

const RETRY_MS = 5_000;
/** The longest wait: a timer stops while the machine is suspended, and the certificate's lifetime does not. */
const LOOK_MS = 60_000;

/**
 * A certificate of the controller itself, issued by the sessions' CA and kept in memory: valid for 24 hours, renewed
 * near half of its lifetime and whenever the CA, its bundle or its list changes. Each replica has its own.
 */
export class OwnCertificate implements Task {
  readonly #deps: OwnCertificateDeps;
  readonly #names: OwnNames;
  readonly #changed = new SignalBus();
  #ca: IssuingCa | undefined;
  #files: TlsFiles | undefined;
  #renewAt = 0;

  constructor(deps: OwnCertificateDeps, names: OwnNames) {
    this.#deps = deps;
    this.#names = names;
  }

  /** Undefined before the CA is known. */
  get files(): TlsFiles | undefined {
    return this.#files;
  }

  /** Resolves when there is a certificate; rejects with the signal's reason. */
  async first(signal: AbortSignal): Promise<void> {
    while (this.#files === undefined) await this.#changed.next(signal);
  }

  /** To be called with each version of the CA. */
  follow(ca: IssuingCa): void {
    this.#ca = ca;
    this.#renewAt = 0;
    this.#changed.notify();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    while (!signal.aborted) {
      try {
        if (this.#ca === undefined) await this.#changed.next(signal);
        if (this.#ca !== undefined && clock.now() >= this.#renewAt) await this.#renew(this.#ca);
        const leftMs = this.#renewAt - clock.now();
        if (leftMs > 0) await this.#changed.nextOrAfter(Math.min(leftMs, LOOK_MS), clock, signal);
      } catch (err) {
        if (signal.aborted) return;
        logger.error({ err, use: this.#names.type }, "cannot create the controller's own certificate");
        await clock.sleep(RETRY_MS, signal).catch(() => {});
      }
    }
  }

  async #renew(ca: IssuingCa): Promise<void> {
    const keys = await newKeyPair("ecdsa-p384");
    const common = {
      trustDomain: undefined,
      namespace: "",
      crlUrl: undefined,
      days: 1,
      now: issuingTime(this.#deps.clock.now()),
    };
    const pem = newLeaf({ ...common, ...leafNames(this.#names) }, keys.publicKey, ca.signer);
    const { bundle, chain, crl } = ca;
    const files: TlsFiles = { cert: `${pem}${chain}`, key: privateKeyPem(keys.privateKey), ca: bundle, crl };
    await this.#deps.onRenewed?.(files);
    this.#files = files;
    this.#changed.notify();
    if (this.#ca === ca) this.#renewAt = renewalTime(new X509Certificate(pem), ca);
  }
}

function leafNames(names: OwnNames) {
  if (names.type === "client") return { type: "client", name: "controller", hosts: [], uris: [names.uri] } as const;
  const [name = "localhost", ...hosts] = names.hosts;
  return { type: "server", name, hosts, uris: [] } as const;
}
