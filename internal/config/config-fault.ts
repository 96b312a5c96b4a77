import { DomainError } from "../base/errors.ts";

/** One thing that is wrong with a configuration. */
export interface ConfigFault {
  /** Counted from 1. */
  readonly line: number;
  /** As `auth.jwt_public_keys[0].issuer`; empty: the file as a whole. */
  readonly key: string;
  readonly reason: string;
}

/** `bridge.yaml:12: server.listen: must be HOST:PORT`; `label` stands before the key. */
export function faultText(file: string, { line, key, reason }: ConfigFault, label?: string): string {
  return [`${file}:${line}`, label, key, reason].filter((part) => part !== undefined && part !== "").join(": ");
}

/** A configuration that cannot be used; its `lines` are all its faults. */
export class ConfigError extends DomainError {
  constructor(file: string, faults: readonly ConfigFault[]) {
    const count = faults.length === 1 ? "one fault" : `${faults.length} faults`;
    const lines = faults.toSorted((a, b) => a.line - b.line).map((fault) => faultText(file, fault));
    super("invalid", `cannot use ${file}: it has ${count}`, { lines });
  }
}
