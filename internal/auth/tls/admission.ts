import type { X509Certificate } from "node:crypto";
import { DomainError, type ErrorKind } from "../../base/errors.ts";
import { hasWeakKey } from "../../pki/key-strength.ts";
import { isFor } from "../../pki/tls-files.ts";
import type { Standing, Trust } from "../../pki/trust.ts";
import { identitiesOf, isSidecar } from "./identities.ts";

/** A caller as its connection identifies it. */
export interface ConnectingPeer {
  readonly certificate: X509Certificate;
  /** The connection is new; otherwise the caller was admitted before. */
  readonly isNew: boolean;
}

/**
 * The reason to refuse a caller, or to admit it no longer; undefined: it may call. The handshake has checked chain and
 * dates; open connections are checked here again whenever our trust changes or a certificate expires.
 *
 * The CA that issued the caller's certificate must itself be in `ca.crt`: intermediates that the caller sends are not
 * considered here.
 *
 * `unavailable` is for certificates that were good and may have been renewed: the caller may reconnect with the new
 * certificate.
 *
 * @param now wall clock, ms
 */
export function admissionRefusal(
  { certificate, isNew }: ConnectingPeer,
  trust: Trust,
  now: number,
): DomainError | undefined {
  const standing = trust.standing(certificate, now);
  if (standing !== "good") return new DomainError(...REFUSALS[isNew ? "new" : "open"][standing]);
  if (!isFor(certificate, "client")) {
    return new DomainError("unauthenticated", "the caller's certificate is not for clients (no clientAuth)");
  }
  if (isNew && hasWeakKey(certificate)) {
    return new DomainError("unauthenticated", "the key of the caller's certificate is too weak");
  }
  if (identitiesOf(certificate).some(isSidecar)) {
    return new DomainError("denied", "the caller's certificate is a sidecar's: sidecars may not call");
  }
  return undefined;
}

type Refusals = Readonly<Record<Exclude<Standing, "good">, readonly [ErrorKind, string]>>;

const AGAIN = "connect again with the one that replaces it";

const NEW: Refusals = {
  expired: ["unauthenticated", "the caller's certificate has expired"],
  "not-yet-valid": ["unauthenticated", "the caller's certificate is not valid yet"],
  untrusted: ["unauthenticated", "the CA of the caller's certificate is not itself trusted here"],
  revoked: ["unauthenticated", "the caller's certificate is revoked"],
  "no-list": ["unauthenticated", "the CA of the caller's certificate has no current revocation list here"],
};

const OPEN: Refusals = {
  ...NEW,
  expired: ["unavailable", `the caller's certificate has expired: ${AGAIN}`],
  untrusted: ["unavailable", `the CA of the caller's certificate is no longer trusted: ${AGAIN}`],
};

const REFUSALS = { new: NEW, open: OPEN };
