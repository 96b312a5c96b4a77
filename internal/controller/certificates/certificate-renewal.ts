import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { Task } from "../../base/task-group.ts";
import type { SetUpSecret } from "../pods/settings.ts";
import type { SecretStore } from "./secret-store.ts";
import type { IssuingCa } from "./session-certificate.ts";
import { wishedFiles } from "./wished-files.ts";

export interface CertificateRenewalDeps {
  readonly secrets: Pick<SecretStore, "get" | "patch">;
  /** The current CA; undefined before it was read. */
  readonly ca: () => IssuingCa | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface CertificateRenewalOptions {
  readonly trustDomain: string;
  /** The namespace of the Secrets. */
  readonly namespace: string;
  readonly secrets: readonly Pick<SetUpSecret, "name" | "content">[];
}

const LOOK_MS = 3_600_000;
const RETRY_MS = 30_000;

/**
 * Renews the certificates that the set-up has made, and keeps the CAs and revocation lists beside them current. Creates
 * no Secret, and leaves keys of tokens alone. Pods that mount a Secret see its new files within a minute or two.
 */
export class CertificateRenewal implements Task {
  readonly #deps: CertificateRenewalDeps;
  readonly #options: CertificateRenewalOptions;
  readonly #changed = new SignalBus();
  #isStale = true;

  constructor(deps: CertificateRenewalDeps, options: CertificateRenewalOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Checks now, because the CA has changed. */
  look(): void {
    this.#isStale = true;
    this.#changed.notify();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    while (!signal.aborted) {
      this.#isStale = false;
      const isDone = await this.#lookAtAll(signal);
      if (this.#isStale) continue;
      await this.#changed.nextOrAfter(isDone ? LOOK_MS : RETRY_MS, clock, signal).catch(() => {});
    }
  }

  async #lookAtAll(signal: AbortSignal): Promise<boolean> {
    let isDone = true;
    for (const secret of this.#options.secrets) {
      try {
        const ca = this.#deps.ca();
        if (ca === undefined) return false;
        await this.#keep(secret, ca, signal);
      } catch (err) {
        if (signal.aborted) return false;
        this.#deps.logger.warn({ err, secret: secret.name }, "cannot renew a certificate of the set-up");
        isDone = false;
      }
    }
    return isDone;
  }

  async #keep({ name, content }: Pick<SetUpSecret, "name" | "content">, ca: IssuingCa, signal: AbortSignal) {
    if (content.type === "token-key") return;
    const { secrets, clock, logger } = this.#deps;
    const { namespace, trustDomain } = this.#options;
    const { isCurrent, make } = wishedFiles(content, { trustDomain, ca, now: clock.now() });
    const found = await secrets.get(namespace, name, signal);
    if (found === undefined || isCurrent(found)) return;
    await secrets.patch(namespace, name, await make(found), found, signal);
    logger.info({ namespace, secret: name }, "certificate of the set-up renewed");
  }
}
