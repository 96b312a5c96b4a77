import { DomainError, errorTextWithHint } from "../base/errors.ts";
import { isOpenToAll } from "../files/named-file.ts";
import type { KeyPath } from "./config-document.ts";
import { ConfigError, type ConfigFault } from "./config-fault.ts";

/**
 * Faults and warnings about the things that a configuration names, each at its line. A fault keeps the daemon from
 * starting; a warning is shown and logged.
 */
export class Findings {
  /** The configuration file, as the person wrote it. */
  readonly file: string;
  readonly faults: ConfigFault[] = [];
  readonly warnings: ConfigFault[] = [];
  readonly #at: (path: KeyPath, reason: string) => ConfigFault;

  constructor(file: string, at: (path: KeyPath, reason: string) => ConfigFault) {
    this.file = file;
    this.#at = at;
  }

  fault(path: KeyPath, reason: string): void {
    this.faults.push(this.#at(path, reason));
  }

  /** Adds an error, with its hint, as a fault. */
  failed(path: KeyPath, err: DomainError): void {
    this.fault(path, errorTextWithHint(err));
  }

  warning(path: KeyPath, reason: string): void {
    this.warnings.push(this.#at(path, reason));
  }

  /**
   * Returns the result of `check`. A DomainError, with its hint, becomes a fault of `path`, and the result is
   * undefined.
   */
  tried<T>(path: KeyPath, check: () => T): T | undefined {
    try {
      return check();
    } catch (err) {
      if (!(err instanceof DomainError)) throw err;
      this.failed(path, err);
      return undefined;
    }
  }

  /** Warns if every user of this machine can use the secret in `file`, which must exist. */
  checkPrivate(path: KeyPath, file: string): void {
    if (!isOpenToAll(file)) return;
    this.warning(path, `every user of this machine can use ${file}: chmod 600 it, and replace the key`);
  }

  /** @throws ConfigError with every fault */
  assertUsable(): void {
    if (this.faults.length > 0) throw new ConfigError(this.file, this.faults);
  }
}
