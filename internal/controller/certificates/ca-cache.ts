import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { Task } from "../../base/task-group.ts";
import type { CaSettings } from "../pods/settings.ts";
import { type CaMaterial, readCaSecret } from "./ca-secret.ts";
import type { SecretStore } from "./secret-store.ts";

export interface CaCacheDeps {
  readonly secrets: Pick<SecretStore, "get">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called after the first read and after each change. */
  readonly onChanged: (ca: CaMaterial) => void;
}

const RETRY_MS = 2_000;

/** The CA of the cluster's sessions, from its Secret. If the Secret cannot be read, the last CA stays in use. */
export class CaCache implements Task {
  readonly #deps: CaCacheDeps;
  readonly #secret: { readonly namespace: string; readonly secret: string };
  readonly #reloadMs: number;
  readonly #wake = new SignalBus();
  #current: CaMaterial | undefined;
  #seen = "";

  constructor(deps: CaCacheDeps, { namespace, secret, reloadMs }: CaSettings) {
    this.#deps = deps;
    this.#secret = { namespace, secret };
    this.#reloadMs = reloadMs;
  }

  get isKnown(): boolean {
    return this.#current !== undefined;
  }

  /** @throws DomainError `unavailable` before the first read, and after the CA has expired */
  get(): CaMaterial {
    const { namespace, secret } = this.#secret;
    if (this.#current === undefined) {
      throw new DomainError("unavailable", `the CA's Secret ${namespace}/${secret} was not read yet`);
    }
    if (this.#current.signer.certificate.validToDate.getTime() > this.#deps.clock.now()) return this.#current;
    throw new DomainError("unavailable", `the CA in the Secret ${namespace}/${secret} has expired`);
  }

  /** Reads again at once, because this replica has written the Secret. */
  lookNow(): void {
    this.#wake.notify();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    while (!signal.aborted) {
      try {
        await this.#look(signal);
        await this.#wake.nextOrAfter(this.#reloadMs, clock, signal);
      } catch (err) {
        if (signal.aborted) return;
        logger.error({ err, ...this.#secret }, "cannot read the CA's Secret");
        await clock.sleep(RETRY_MS, signal).catch(() => {});
      }
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { secrets, clock, onChanged } = this.#deps;
    const { namespace, secret } = this.#secret;
    const found = await secrets.get(namespace, secret, signal);
    if (found === undefined) throw new DomainError("precondition", `there is no Secret ${namespace}/${secret}`);
    const version = `${found.uid} ${found.resourceVersion}`;
    if (version === this.#seen) return;
    this.#current = readCaSecret(found.data, clock.now());
    this.#seen = version;
    onChanged(this.#current);
  }
}
