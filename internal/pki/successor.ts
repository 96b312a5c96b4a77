import type { X509Certificate } from "node:crypto";
import { DomainError } from "../base/errors.ts";
import { checkAuthority } from "./authority.ts";
import { factsOf } from "./certificate-facts.ts";
import { BACKDATE_MS, certify, type Signer } from "./certify.ts";
import { caConstraints, keyUsage } from "./extensions.ts";

/**
 * Certifies a CA's successor with the old CA. A peer that trusts only the old CA accepts the successor's certificates
 * too when this certificate is sent with them. The successor may sign leaves of every kind, since both CAs have the
 * same owner. The certificate expires as soon as one of the two CAs does. PEM.
 * @param now wall clock, ms
 * @throws DomainError `denied` for a successor that is not a CA, or that has the name or the key of the old CA
 */
export function signSuccessor(successor: X509Certificate, before: Signer, now: number): string {
  checkAuthority(successor, now, "the new CA");
  const [next, old] = [factsOf(successor), factsOf(before.certificate)];
  if (successor.publicKey.equals(before.certificate.publicKey)) {
    throw new DomainError("denied", "the new CA has the key of the previous one");
  }
  if (next.subject.equals(old.subject)) {
    throw new DomainError("denied", "the new CA has the name of the previous one: the two could not be distinguished");
  }
  const ends = [successor, before.certificate].map((ca) => ca.validToDate.getTime());
  const content = {
    subject: next.subject,
    publicKey: successor.publicKey,
    notBefore: now - BACKDATE_MS,
    notAfter: Math.min(...ends),
    extensions: [caConstraints(0), keyUsage("keyCertSign", "crlSign")],
    keyId: next.subjectKeyId,
  };
  return certify(content, before);
}
