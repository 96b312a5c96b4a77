import type { X509Certificate } from "node:crypto";
import { DomainError } from "../base/errors.ts";
import { factsOf } from "./certificate-facts.ts";
import { BACKDATE_MS, certifySelf, commonName, type Signer } from "./certify.ts";
import { caConstraints, KEY_USAGE, keyUsage, subjectAltName } from "./extensions.ts";
import type { KeyPair } from "./key-pair.ts";
import { weaknessOf } from "./signature.ts";

const DAY_MS = 86_400_000;

export interface AuthorityOptions {
  readonly name: string;
  /** Undefined: the certificate names no trust domain, and each certificate with an identity must be given one. */
  readonly trustDomain: string | undefined;
  readonly days: number;
  /** Wall clock, ms. */
  readonly now: number;
}

/** The certificate of a new CA: it may sign leaves, and CAs that sign leaves. PEM. */
export function newAuthority(keys: KeyPair, { name, trustDomain, days, now }: AuthorityOptions): string {
  const extensions = [caConstraints(1), keyUsage("keyCertSign", "crlSign")];
  if (trustDomain !== undefined) extensions.push(subjectAltName([{ type: "uri", value: `spiffe://${trustDomain}` }]));
  const notBefore = now - BACKDATE_MS;
  const dates = { notBefore, notAfter: notBefore + days * DAY_MS };
  return certifySelf({ subject: commonName(name), publicKey: keys.publicKey, ...dates, extensions }, keys.privateKey);
}

/**
 * Checks that a CA can sign now: `checkAuthority` accepts its certificate, and the key belongs to it.
 * @throws DomainError `denied`, `invalid`
 */
export function checkSigner(signer: Signer, now: number, name: string): void {
  const { certificate, key } = signer;
  checkAuthority(certificate, now, name);
  if (!certificate.checkPrivateKey(key)) throw new DomainError("denied", `the CA's key is not the key of ${name}`);
}

/**
 * Checks the certificate of a CA, ours or a foreign one: it may sign certificates, is within its dates, and has a
 * strong key.
 * @throws DomainError `denied`
 */
export function checkAuthority(certificate: X509Certificate, now: number, name: string): void {
  const { isCa, keyUsage: usage } = factsOf(certificate);
  const weakness = weaknessOf(certificate.publicKey);
  if (!isCa) throw new DomainError("denied", `${name} is not the certificate of a CA`);
  if (!maySign(usage, "keyCertSign")) throw new DomainError("denied", `${name} may not sign certificates (key usage)`);
  if (weakness !== undefined) throw new DomainError("denied", `${name} has ${weakness}`);
  if (certificate.validToDate.getTime() <= now) throw new DomainError("denied", `${name} has expired`);
  if (certificate.validFromDate.getTime() > now) throw new DomainError("denied", `${name} is not valid yet`);
}

/** A certificate without a key usage may sign everything. */
export function maySign(usage: number | undefined, what: "keyCertSign" | "crlSign"): boolean {
  return usage === undefined || (usage & (0x80 >> KEY_USAGE[what])) !== 0;
}

/** The certificate is signed with its own key. */
export function isSelfSigned(certificate: X509Certificate): boolean {
  const { subject, issuer } = factsOf(certificate);
  return subject.equals(issuer) && certificate.verify(certificate.publicKey);
}

/** The certificate names `ca` as its issuer, and the CA's key has signed it. */
export function isIssuedBy(certificate: X509Certificate, ca: X509Certificate): boolean {
  return factsOf(certificate).issuer.equals(factsOf(ca).subject) && certificate.verify(ca.publicKey);
}
