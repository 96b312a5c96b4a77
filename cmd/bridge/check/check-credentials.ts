import { checkAgentTokenKey } from "../../../internal/auth/agent-token-block.ts";
import { checkKeyIssuers, warnOfExpiry } from "../../../internal/auth/credential-findings.ts";
import { readTlsPaths } from "../../../internal/auth/tls/read-tls-files.ts";
import { publicKeysOf } from "../../../internal/auth/token-key-files.ts";
import { DomainError } from "../../../internal/base/errors.ts";
import type { KeyPath } from "../../../internal/config/config-document.ts";
import type { Findings } from "../../../internal/config/findings.ts";
import { readNamedFileSync } from "../../../internal/files/named-file.ts";
import { certificatesOf } from "../../../internal/pki/pem.ts";
import { type CheckedTls, checkTls } from "../../../internal/pki/tls-files.ts";
import type { BridgeConfig } from "../file/bridge-config.ts";

const KEY_OF: Readonly<Record<string, KeyPath>> = {
  cert: ["tls", "cert"],
  key: ["tls", "key"],
  ca: ["tls", "ca_bundle"],
  crl: ["tls", "crl"],
};

/**
 * Reads every certificate, signing key and revocation list that the configuration names, as the server does at its
 * start.
 * @param now wall clock, ms
 */
export async function checkCredentials(config: BridgeConfig, findings: Findings, now: number): Promise<void> {
  if (config.sessionTokens !== undefined) checkAgentTokenKey(config.sessionTokens, ["session_tokens"], findings);
  const { threads } = config;
  if (threads?.caPath !== undefined) {
    const path = threads.caPath;
    findings.tried(["session_tokens", "ca_path"], () => certificatesOf(readNamedFileSync(path)));
  }
  const tls = areReadable(config, findings) ? await tlsOf(config, findings, now) : undefined;
  if (tls === undefined) return;
  findings.checkPrivate(["tls", "key"], config.tls.key);
  warnOfExpiry(findings, ["tls", "cert"], "it", tls, now);
  warnOfForeignRoots(tls, findings);
  if (findings.faults.length === 0) warnOfSharedKeys(config, findings);
  checkKeyIssuers(findings, config.auth.keyFiles, tls.trust.cas, config.tls.ca);
}

/** A foreign self-signed CA may sign for any name, and none of our revocation lists covers it. */
function warnOfForeignRoots({ trust, issuers }: CheckedTls, findings: Findings): void {
  const own = new Set(issuers.map(({ fingerprint256 }) => fingerprint256));
  for (const ca of trust.cas) {
    if (ca.subject !== ca.issuer || own.has(ca.fingerprint256)) continue;
    const name = ca.subject.replaceAll("\n", ", ");
    const reason = `has ${JSON.stringify(name)}, which is self-signed: cross-sign it, so that it can be limited and revoked`;
    findings.warning(["tls", "ca_bundle"], reason);
  }
}

/** Warns of a key that two issuers share: its holder can speak for both. */
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
