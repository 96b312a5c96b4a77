import type { X509Certificate } from "node:crypto";
import type { KeyPath } from "../config/config-document.ts";
import type { Findings } from "../config/findings.ts";
import { checkIssuers, hasTrustedCa } from "./issuing-cas.ts";
import type { TokenKeyFile } from "./token-key-files.ts";

/** A certificate with less than this share of its lifetime left is probably not being renewed. */
const LAST_SHARE = 0.2;

interface Chain {
  readonly leaf: X509Certificate;
  /** When the first certificate of the chain expires, wall clock, ms. */
  readonly notAfter: number;
}

/**
 * Warns at `path` if a chain expires soon.
 * @param name names the leaf in the warning
 * @param now wall clock, ms
 */
export function warnOfExpiry(
  findings: Findings,
  path: KeyPath,
  name: string,
  { leaf, notAfter }: Chain,
  now: number,
): void {
  if (notAfter - now >= LAST_SHARE * (notAfter - leaf.validFromDate.getTime())) return;
  findings.warning(path, `${name}, or a CA above it, expires on ${new Date(notAfter).toISOString()}`);
}

/**
 * Checks that each issuer of `auth.jwt_public_keys` has a CA among those that the server trusts.
 * @param caPath the file that `cas` were read from
 */
export function checkKeyIssuers(
  findings: Findings,
  keyFiles: readonly TokenKeyFile[],
  cas: readonly X509Certificate[],
  caPath: string,
): void {
  for (const [i, { rule }] of keyFiles.entries()) {
    const key = ["auth", "jwt_public_keys", i, "issuer"];
    findings.tried(key, () => checkIssuers([rule], cas));
    if (hasTrustedCa(rule, cas)) continue;
    const why = `no CA in ${caPath} is named ${JSON.stringify(rule.issuer)}`;
    findings.warning(
      key,
      `${why}: its tokens are accepted only with certificates that our own CA issued for a client of that name`,
    );
  }
}
