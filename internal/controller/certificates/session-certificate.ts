import { createHash, X509Certificate } from "node:crypto";
import { factsOf } from "../../pki/certificate-facts.ts";
import type { Signer } from "../../pki/certify.ts";
import { OID } from "../../pki/der/object-ids.ts";
import { newKeyPair, privateKeyPem } from "../../pki/key-pair.ts";
import { newLeaf } from "../../pki/leaf.ts";
import { sidecarDnsName, sidecarId } from "../../pki/trust-domain.ts";

/** The session that a certificate identifies. */
export interface SessionIdentity {
  readonly trustDomain: string;
  readonly namespace: string;
  readonly sessionId: string;
}

/** The CA for issuing, and the content that all Secrets share. */
export interface IssuingCa {
  readonly signer: Signer;
  /** CAs between the signer and a root of `bundle`, PEM; empty if the signer is a root. */
  readonly chain: string;
  /** `ca.crt` of every Secret, PEM: the CAs to which the certificates of a sidecar and its callers must lead. */
  readonly bundle: string;
  /** `crl.pem` of every Secret, PEM; undefined: none. */
  readonly crl?: string | undefined;
}

/** For nodes whose clocks are behind; added to the minute by which every certificate is backdated. */
const CLOCKS_BEHIND_MS = 14 * 60_000;

/**
 * The time to pass as `now` when issuing a certificate, so that it is valid at once even where the clock is 15 minutes
 * behind.
 */
export function issuingTime(now: number): number {
  return now - CLOCKS_BEHIND_MS;
}

/** Lifetime of a sidecar's certificate. */
const LIFE_DAYS = 1;
/** Renewed after this share of its lifetime, ± RENEW_SPREAD. */
const RENEW_AT = 0.5;
const RENEW_SPREAD = 0.1;

/**
 * Issues a certificate with a new key for a session's sidecar: for servers only, valid for 24 hours, with the session's
 * URI and DNS name.
 * @param now wall clock, ms
 * @throws DomainError `invalid` for a session that cannot be named in a certificate
 */
export async function newSessionCertificate(
  { trustDomain, namespace, sessionId }: SessionIdentity,
  { signer, chain }: IssuingCa,
  now: number,
): Promise<{ readonly cert: string; readonly key: string; readonly leaf: X509Certificate }> {
  const keys = await newKeyPair("ecdsa-p384");
  const names = { name: sessionId, hosts: [], uris: [], trustDomain, namespace };
  const pem = newLeaf(
    { type: "sidecar", ...names, crlUrl: undefined, days: LIFE_DAYS, now: issuingTime(now) },
    keys.publicKey,
    signer,
  );
  return { cert: `${pem}${chain}`, key: privateKeyPem(keys.privateKey), leaf: new X509Certificate(pem) };
}

/**
 * When to renew a certificate, wall clock, ms: near half of its lifetime, spread by its serial, so that certificates
 * issued together are not all renewed together. All replicas get the same result. Infinity for a certificate that
 * expires with its CA: a new one would expire at the same time.
 */
export function renewalTime(leaf: X509Certificate, { signer }: Pick<IssuingCa, "signer">): number {
  const [start, end] = [leaf.validFromDate.getTime(), leaf.validToDate.getTime()];
  if (end >= signer.certificate.validToDate.getTime()) return Number.POSITIVE_INFINITY;
  const life = end - start;
  const digest = createHash("sha256").update(leaf.serialNumber).digest();
  const spread = (digest.readUInt32BE(0) / 0xffffffff) * 2 - 1;
  return Math.round(start + life * (RENEW_AT + spread * RENEW_SPREAD));
}

/** True if a certificate names exactly this session, and is for servers only. */
export function isCertificateOf(
  leaf: X509Certificate,
  { trustDomain, namespace, sessionId }: SessionIdentity,
): boolean {
  const { names, extendedKeyUsage, isCa } = factsOf(leaf);
  const wanted = [
    `uri ${sidecarId(trustDomain, namespace, sessionId)}`,
    `dns ${sidecarDnsName(trustDomain, namespace, sessionId)}`,
  ];
  const found = names.map((name) =>
    name.type === "uri" || name.type === "dns" ? `${name.type} ${name.value}` : name.type,
  );
  const isNamed = found.length === wanted.length && wanted.every((name) => found.includes(name));
  return isNamed && !isCa && extendedKeyUsage?.length === 1 && extendedKeyUsage[0] === OID.serverAuth;
}
