import { hash, type X509Certificate } from "node:crypto";
import { DomainError } from "../../base/errors.ts";
import { urisOf } from "../../base/text/uri-names.ts";

const SESSION = /^spiffe:\/\/[^/]+\/ns\/[^/]+\/session\/([^/]+)$/;
const SIDECAR = /^spiffe:\/\/[^/]+\/ns\/[^/]+\/session(?:\/|$)/;

/** The identities of a certificate's owner: its URI names. */
export function identitiesOf(certificate: X509Certificate): readonly string[] {
  return urisOf(certificate.subjectAltName ?? "");
}

/** The sessions of the sidecars that a certificate names. */
export function sessionsOf(certificate: X509Certificate): readonly string[] {
  return identitiesOf(certificate).flatMap((uri) => SESSION.exec(uri)?.[1] ?? []);
}

/**
 * Checks that a certificate which names a session is used by that session, since Secrets can be mixed up.
 * @throws DomainError `invalid`, naming both sessions
 */
export function checkSession(leaf: X509Certificate, sessionId: string): void {
  const named = sessionsOf(leaf);
  if (named.length === 0 || named.includes(sessionId)) return;
  const message = `tls.crt is for session ${JSON.stringify(named[0])}, but this is session ${JSON.stringify(sessionId)}`;
  throw new DomainError("invalid", message, { fields: { reason: "identity" } });
}

/** True if an identity has the form of a sidecar's. Sidecars only accept calls. */
export function isSidecar(uri: string): boolean {
  return SIDECAR.test(uri);
}

/** The longest name of a caller, as in `gastown-sender`. */
const MAX_CHARS = 256;
/** A longer name is cut to this, followed by a hash of the whole name. */
const KEPT_CHARS = 190;

/** The name, in at most 256 characters: a longer name is cut and ends in `~` and the SHA-256 of the whole name. */
export function boundedName(name: string): string {
  return name.length <= MAX_CHARS ? name : `${name.slice(0, KEPT_CHARS)}~${hash("sha256", name, "hex")}`;
}
