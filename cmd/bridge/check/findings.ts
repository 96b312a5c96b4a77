import { DomainError, errorText } from "../../../internal/base/errors.ts";
import type { KeyPath } from "../file/config-document.ts";
import type { ConfigFault } from "../file/config-fault.ts";

/** What is found wrong with what a configuration names. With a fault the bridge does not start. */
export class Findings {
  readonly faults: ConfigFault[] = [];
  readonly warnings: ConfigFault[] = [];
  readonly #at: (path: KeyPath, reason: string) => ConfigFault;

  constructor(at: (path: KeyPath, reason: string) => ConfigFault) {
    this.#at = at;
  }

  fault(path: KeyPath, reason: string): void {
    this.faults.push(this.#at(path, reason));
  }

  warning(path: KeyPath, reason: string): void {
    this.warnings.push(this.#at(path, reason));
  }

  /** A domain error counts as a fault of `path`. */
  tried(path: KeyPath, check: () => unknown): void {
    try {
      check();
    } catch (err) {
      if (!(err instanceof DomainError)) throw err;
      this.fault(path, errorText(err));
    }
  }
}
