import { join } from "node:path";
import { checkKeyIssuers, warnOfExpiry } from "../../internal/auth/credential-findings.ts";
import { readTlsFiles } from "../../internal/auth/tls/read-tls-files.ts";
import { DomainError } from "../../internal/base/errors.ts";
import type { Findings } from "../../internal/config/findings.ts";
import { checkAuditFile } from "../../internal/files/audit-file.ts";
import { type CheckedTls, checkTls } from "../../internal/pki/tls-files.ts";
import type { TrustSettings } from "./trust-settings.ts";

const DIR = ["tls", "dir"];

/**
 * Reads certificates, keys and revocation lists as the relay does. Everything that would fail the start is a fault.
 * @param now wall clock, ms
 */
export async function checkTrust({ tls, auth, audit }: TrustSettings, findings: Findings, now: number): Promise<void> {
  if (typeof audit === "object") findings.tried(["audit", "path"], () => checkAuditFile(audit.path));
  if (tls === undefined) return;
  const checked = await tlsOf(tls, findings, now);
  if (checked === undefined) return;
  findings.checkPrivate(DIR, join(tls.dir, "tls.key"));
  warnOfExpiry(findings, DIR, "tls.crt", checked, now);
  if (auth === undefined) {
    const reason = "without auth whoever has a certificate of ca.crt can be any agent of any session";
    findings.warning(DIR, reason);
  }
  checkKeyIssuers(findings, auth?.keyFiles ?? [], checked.trust.cas, join(tls.dir, "ca.crt"));
}

async function tlsOf(
  { dir, trust }: NonNullable<TrustSettings["tls"]>,
  findings: Findings,
  now: number,
): Promise<CheckedTls | undefined> {
  try {
    return checkTls(await readTlsFiles(dir), "server", now, trust);
  } catch (err) {
    if (!(err instanceof DomainError)) throw err;
    const { message, fields } = err;
    findings.failed(DIR, new DomainError("invalid", `cannot serve with ${dir}: ${message}`, { fields, cause: err }));
    return undefined;
  }
}
