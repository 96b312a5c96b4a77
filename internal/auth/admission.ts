import type { X509Certificate } from "node:crypto";
import { DomainError } from "../base/errors.ts";
import { isFor } from "../pki/tls-files.ts";
import type { Standing, Trust } from "../pki/trust.ts";
import { isSidecar } from "./identities.ts";

/**
 * Why the owner of a certificate may not call, or not any more; undefined: it may. The handshake has checked chain and
 * dates; this is asked again whenever our trust changes or a certificate ends, of connections that are open.
 *
 * `unavailable` is for certificates that were good and may have a successor: the caller may connect again with that one.
 *
 * @param uris URI names of the certificate
 * @param now wall clock, ms
 */
export function refusalOf(
  certificate: X509Certificate,
  uris: readonly string[],
  trust: Trust,
  now: number,
): DomainError | undefined {
  const standing = trust.standing(certificate, now);
  if (standing !== "good") return REFUSALS[standing]();
  if (!isFor(certificate, "client")) {
    return new DomainError("unauthenticated", "the caller's certificate is not one for callers (no clientAuth)");
  }
  if (uris.some(isSidecar)) {
    return new DomainError("denied", "the caller's certificate is a sidecar's: sidecars do not call");
  }
  return undefined;
}

const AGAIN = "connect again with the one that replaces it";

const REFUSALS: Readonly<Record<Exclude<Standing, "good">, () => DomainError>> = {
  expired: () => new DomainError("unavailable", `the caller's certificate has expired: ${AGAIN}`),
  "not-yet-valid": () => new DomainError("unauthenticated", "the caller's certificate is not valid yet"),
  untrusted: () =>
    new DomainError("unavailable", `the CA of the caller's certificate is not trusted any more: ${AGAIN}`),
  revoked: () => new DomainError("unauthenticated", "the caller's certificate is revoked"),
};
