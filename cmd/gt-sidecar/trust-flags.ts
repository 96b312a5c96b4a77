import { resolve } from "node:path";
import { DomainError } from "../../internal/base/errors.ts";
import { knownWord } from "../../internal/cli/command/arguments.ts";
import { checkAuditFile } from "../../internal/files/audit-file.ts";
import type { CrlPolicy } from "../../internal/pki/trust.ts";

/** The settings that the trust flags depend on. */
export interface TrustFlagContext {
  readonly tlsDir: string | undefined;
  readonly half: "both" | "supervise" | "serve";
}

/** Reads `--crl-policy`; default: `if-present`. @throws DomainError `invalid` */
export function readCrlPolicyFlag(value: string | undefined, { tlsDir, half }: TrustFlagContext): CrlPolicy {
  if (value === undefined) return "if-present";
  const policy = knownWord("--crl-policy", value, ["require", "if-present"]);
  if (half === "supervise" || tlsDir !== undefined) return policy;
  throw new DomainError("invalid", "--crl-policy needs --tls-dir: without certificates, there is nothing to revoke");
}

/**
 * Reads `--audit-log`: a file that exists already or can be made, which is checked only at the first start: a restarted
 * serving half keeps trying, because the agent is running meanwhile.
 * @throws DomainError `invalid`
 */
export function readAuditFlag(value: string | undefined, { tlsDir, half }: TrustFlagContext): string | undefined {
  if (value === undefined) return undefined;
  if (half !== "supervise" && tlsDir === undefined) {
    throw new DomainError(
      "invalid",
      "--audit-log needs --tls-dir: without certificates every caller may do everything",
    );
  }
  const path = resolve(value);
  if (half === "both") checkAuditFile(path);
  return path;
}
