import { checkAgentTokenKey } from "../../../internal/auth/agent-token-block.ts";
import { checkIssuers, hasTrustedCa } from "../../../internal/auth/issuing-cas.ts";
import { readTlsPaths } from "../../../internal/auth/tls/read-tls-files.ts";
import { publicKeysOf } from "../../../internal/auth/token-key-files.ts";
import { DomainError } from "../../../internal/base/errors.ts";
import type { KeyPath } from "../../../internal/config/config-document.ts";
import type { Findings } from "../../../internal/config/findings.ts";
import { readNamedFileSync } from "../../../internal/files/named-file.ts";
import { type CheckedTls, checkTls } from "../../../internal/pki/tls-files.ts";
import type { BridgeConfig } from "../file/bridge-config.ts";

const KEY_OF: Readonly<Record<string, KeyPath>> = {
  cert: ["tls", "cert"],
  key: ["tls", "key"],
  ca: ["tls", "ca_bundle"],
  crl: ["tls", "crl"],
};

/** If less than this share of its lifetime is left, a certificate is probably not being renewed. */
const LAST_SHARE = 0.2;

/**
 * Reads every certificate, signing key and revocation list that the configuration names, as the server will.
 * @param now wall clock, ms
 */
export async function checkCredentials(config: BridgeConfig, findings: Findings, now: number): Promise<void> {
  if (config.sessionTokens !== undefined) checkAgentTokenKey(config.sessionTokens, ["session_tokens"], findings);
  const tls = areReadable(config, findings) ? await tlsOf(config, findings, now) : undefined;
  if (tls === undefined) return;
  findings.checkPrivate(["tls", "key"], config.tls.key);
  if (tls.notAfter - now < LAST_SHARE * (tls.notAfter - tls.leaf.validFromDate.getTime())) {
    findings.warning(["tls", "cert"], `it, or a CA above it, expires on ${new Date(tls.notAfter).toISOString()}`);
  }
  warnOfForeignRoots(tls, findings);
  if (findings.faults.length === 0) warnOfSharedKeys(config, findings);
  for (const [i, { rule }] of config.auth.keyFiles.entries()) {
    const key = ["auth", "jwt_public_keys", i, "issuer"];
    findings.tried(key, () => checkIssuers([rule], tls.trust.cas));
    if (hasTrustedCa(rule, tls.trust.cas)) continue;
    const why = `no CA in ${config.tls.ca} is named ${JSON.stringify(rule.issuer)}`;
    findings.warning(
      key,
      `${why}: its tokens are accepted only with certificates that our own CA issued for a client of that name`,
    );
  }
}

/** A CA that trusts itself alone may sign for any name, and no list of ours can revoke it. */
function warnOfForeignRoots({ trust, issuers }: CheckedTls, findings: Findings): void {
  const own = new Set(issuers.map(({ fingerprint256 }) => fingerprint256));
  for (const ca of trust.cas) {
    if (ca.subject !== ca.issuer || own.has(ca.fingerprint256)) continue;
    const name = ca.subject.replaceAll("\n", ", ");
    const reason = `has ${JSON.stringify(name)}, which is self-signed: cross-sign it, so that it can be limited and revoked`;
    findings.warning(["tls", "ca_bundle"], reason);
  }
}

/** Whoever has the key can then speak for both. */
function warnOfSharedKeys({ auth }: BridgeConfig, findings: Findings): void {
  const issuers = new Map<string, string>();
  for (const [i, { path, rule }] of auth.keyFiles.entries()) {
    for (const key of publicKeysOf(readNamedFileSync(path), path)) {
      const text = key.export({ type: "spki", format: "der" }).toString("base64");
      const other = issuers.get(text);
      issuers.set(text, other ?? rule.issuer);
      if (other === undefined || other === rule.issuer) continue;
      const reason = `is the key of ${JSON.stringify(other)} too: either can speak for both`;
      findings.warning(["auth", "jwt_public_keys", i, "key_path"], reason);
    }
  }
}

function areReadable({ tls }: BridgeConfig, findings: Findings): boolean {
  const before = findings.faults.length;
  const paths = { cert: [tls.cert], key: [tls.key], ca: [tls.ca], crl: tls.crl };
  for (const [file, named] of Object.entries(paths)) {
    for (const path of named) findings.tried(KEY_OF[file] ?? [], () => readNamedFileSync(path));
  }
  return findings.faults.length === before;
}

async function tlsOf({ tls, trust }: BridgeConfig, findings: Findings, now: number): Promise<CheckedTls | undefined> {
  try {
    return checkTls(await readTlsPaths(tls), "server", now, trust);
  } catch (err) {
    if (!(err instanceof DomainError)) throw err;
    findings.failed(KEY_OF[String(err.fields["file"])] ?? ["tls"], err);
    return undefined;
  }
}
