import { createHash, X509Certificate } from "node:crypto";
import { factsOf } from "../../pki/certificate-facts.ts";
import type { Signer } from "../../pki/certify.ts";
import { OID } from "../../pki/der/object-ids.ts";
import { newKeyPair, privateKeyPem } from "../../pki/key-pair.ts";
import { newLeaf } from "../../pki/leaf.ts";
import { sidecarDnsName, sidecarId } from "../../pki/trust-domain.ts";

/** Whose certificate it is. */
export interface SessionIdentity {
  readonly trustDomain: string;
  readonly namespace: string;
  readonly sessionId: string;
}

/** The inputs of certificates, and the other contents of every Secret. */
export interface IssuingCa {
  readonly signer: Signer;
  /** CAs between the signer and a root of `bundle`, PEM; empty when the signer is one. */
  readonly chain: string;
  /** `ca.crt` of every Secret, PEM: the CAs that a sidecar's callers and its own certificate lead to. */
  readonly bundle: string;
  /** `crl.pem` of every Secret, PEM; undefined: none. */
  readonly crl?: string;
}

/** For nodes whose clocks are behind: beside the minute by which every certificate begins in the past. */
const CLOCKS_BEHIND_MS = 14 * 60_000;

/** As of when the controller issues, so that what it issues `now` is valid where the clock is 15 minutes behind. */
export function issuingTime(now: number): number {
  return now - CLOCKS_BEHIND_MS;
}

/** How long a sidecar's certificate is valid. */
const LIFE_DAYS = 1;
/** Renewed at half of its life, and up to a tenth of it sooner or later. */
const RENEW_AT = 0.5;
const RENEW_SPREAD = 0.1;

/**
 * A certificate for a session's sidecar and its new key: for servers only, 24 hours, with the session's URI and DNS
 * name.
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
 * When a certificate is replaced, wall clock, ms: at half of its life, spread over a fifth of it by its serial, so that
 * certificates of one hour are not all renewed in one minute. The same for every replica that asks. Infinity for one
 * that ends with its CA: the next would end then too.
 */
export function renewalTime(leaf: X509Certificate, { signer }: Pick<IssuingCa, "signer">): number {
  const [start, end] = [leaf.validFromDate.getTime(), leaf.validToDate.getTime()];
  if (end >= signer.certificate.validToDate.getTime()) return Number.POSITIVE_INFINITY;
  const life = end - start;
  const digest = createHash("sha256").update(leaf.serialNumber).digest();
  const spread = (digest.readUInt32BE(0) / 0xffffffff) * 2 - 1;
  return Math.round(start + life * (RENEW_AT + spread * RENEW_SPREAD));
}

/** It names this session and nothing else, and is for servers only. */
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
