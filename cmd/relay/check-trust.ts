import { join } from "node:path";
import { checkIssuers, hasTrustedCa } from "../../internal/auth/issuing-cas.ts";
import { readTlsFiles } from "../../internal/auth/tls/read-tls-files.ts";
import { DomainError, errorText } from "../../internal/base/errors.ts";
import type { Findings } from "../../internal/config/findings.ts";
import { AuditFile } from "../../internal/files/audit-file.ts";
import { type CheckedTls, checkTls } from "../../internal/pki/tls-files.ts";
import type { TrustSettings } from "./trust-settings.ts";

const DIR = ["tls", "dir"];
/** If less than this share of its lifetime is left, a certificate is probably not being renewed. */
const LAST_SHARE = 0.2;

/**
 * Reads certificates, keys and revocation lists as the relay will; what a start would fail with is a fault.
 * @param now wall clock, ms
 */
export async function checkTrust({ tls, auth, audit }: TrustSettings, findings: Findings, now: number): Promise<void> {
  if (typeof audit === "object") findings.tried(["audit", "path"], () => checkAudit(audit.path));
  if (tls === undefined) return;
  const checked = await tlsOf(tls, findings, now);
  if (checked === undefined) return;
  findings.checkPrivate(DIR, join(tls.dir, "tls.key"));
  const { leaf, notAfter, trust } = checked;
  if (notAfter - now < LAST_SHARE * (notAfter - leaf.validFromDate.getTime())) {
    findings.warning(DIR, `tls.crt, or a CA above it, expires on ${new Date(notAfter).toISOString()}`);
  }
  if (auth === undefined) {
    const reason = "without auth whoever has a certificate of ca.crt can be any agent of any session";
    findings.warning(DIR, reason);
  }
  for (const [i, { rule }] of (auth?.keyFiles ?? []).entries()) {
    const key = ["auth", "jwt_public_keys", i, "issuer"];
    findings.tried(key, () => checkIssuers([rule], trust.cas));
    if (hasTrustedCa(rule, trust.cas)) continue;
    const why = `no CA in ${join(tls.dir, "ca.crt")} is named ${JSON.stringify(rule.issuer)}`;
    findings.warning(
      key,
      `${why}: its tokens are accepted only with certificates that our own CA issued for a client of that name`,
    );
  }
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

function checkAudit(path: string): void {
  try {
    new AuditFile(path, () => {})[Symbol.dispose]();
  } catch (cause) {
    throw new DomainError("invalid", `cannot write to the audit log ${path}: ${errorText(cause)}`, { cause });
  }
}
