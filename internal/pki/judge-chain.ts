import type { X509Certificate } from "node:crypto";
import { maySign } from "./authority.ts";
import { factsOf } from "./certificate-facts.ts";
import { OID } from "./der/object-ids.ts";
import { nameViolation } from "./name-constraints.ts";
import type { RevocationList } from "./revocation-list.ts";
import { weaknessOf } from "./signature.ts";

export type Usage = "server" | "client";

export interface ChainRules {
  /** Undefined: the usages that the leaf states. */
  readonly usage: Usage | undefined;
  /** Wall clock, ms. */
  readonly now: number;
  readonly lists: readonly RevocationList[];
}

/**
 * Why a chain is refused: `link` is the index of the certificate, 0 for the leaf, and `why` the predicate of a sentence
 * about it.
 */
export interface ChainFault {
  readonly link: number;
  readonly why: string;
}

/** Accepted signature algorithms: ECDSA and RSA with SHA-2, and Ed25519. */
const SIGNATURES: ReadonlySet<string> = new Set([
  ...["1.2.840.10045.4.3.2", "1.2.840.10045.4.3.3", "1.2.840.10045.4.3.4"],
  ...["1.2.840.113549.1.1.11", "1.2.840.113549.1.1.12", "1.2.840.113549.1.1.13"],
  "1.3.101.112",
]);
const USAGES = { server: OID.serverAuth, client: OID.clientAuth } as const;
const USAGE_WORDS = { server: "servers (serverAuth)", client: "clients (clientAuth)" } as const;

/**
 * Checks a chain from a leaf to its trusted root, in which each certificate is known to be signed by the next. Returns
 * the first fault from the leaf up; undefined: the chain is good.
 */
export function judgeChain(chain: readonly X509Certificate[], rules: ChainRules): ChainFault | undefined {
  for (const [link, certificate] of chain.entries()) {
    for (const check of CHECKS) {
      const why = check(certificate, { chain, link, ...rules });
      if (why !== undefined) return { link, why };
    }
  }
  return undefined;
}

/** The usages that a leaf states. */
export function usagesOf(leaf: X509Certificate): readonly Usage[] {
  const stated = factsOf(leaf).extendedKeyUsage ?? [];
  return (["server", "client"] as const).filter((usage) => stated.includes(USAGES[usage]));
}

interface Place extends ChainRules {
  readonly chain: readonly X509Certificate[];
  readonly link: number;
}

type Check = (certificate: X509Certificate, place: Place) => string | undefined;

const hasExpired: Check = ({ validToDate }, { now }) =>
  validToDate.getTime() <= now ? `has expired, on ${dateText(validToDate)}` : undefined;

const isTooEarly: Check = ({ validFromDate }, { now }) =>
  validFromDate.getTime() > now ? `is not valid before ${dateText(validFromDate)}` : undefined;

const isRevoked: Check = (certificate, { chain, link, lists }) => {
  const issuer = chain[link + 1];
  const revoked = issuer && lists.some((list) => list.names(certificate) && list.isSignedBy(issuer));
  return revoked ? "is revoked" : undefined;
};

const hasWeakKey: Check = ({ publicKey }) => {
  const weakness = weaknessOf(publicKey);
  return weakness === undefined ? undefined : `has ${weakness}`;
};

/** A root's own signature proves nothing and is not checked. */
const hasWeakSignature: Check = (certificate, { chain, link }) => {
  const isRoot = link > 0 && link === chain.length - 1;
  if (isRoot || SIGNATURES.has(factsOf(certificate).signatureAlgorithm)) return undefined;
  return "is signed with a weak or unknown algorithm (SHA-1, for example)";
};

const hasUnknownExtension: Check = (certificate) => {
  const [id] = factsOf(certificate).unknownCritical;
  return id === undefined ? undefined : `has an unknown critical extension (${id})`;
};

const isNoCa: Check = (certificate, { link }) => {
  if (link === 0) return undefined;
  const { isCa, keyUsage } = factsOf(certificate);
  if (!isCa) return "is not a CA, but signed the one below it";
  return maySign(keyUsage, "keyCertSign")
    ? undefined
    : "may not sign certificates (key usage), but signed the one below it";
};

/** A self-issued CA, which exists while a CA's key is being replaced, does not count towards the path length. */
const isTooFarUp: Check = (certificate, { chain, link }) => {
  const { pathLength } = factsOf(certificate);
  if (link === 0 || pathLength === undefined) return undefined;
  const between = chain.slice(1, link).filter((ca) => !factsOf(ca).subject.equals(factsOf(ca).issuer)).length;
  return between > pathLength ? `allows ${pathLength} CAs below it, but there are ${between} (path length)` : undefined;
};

const hasOtherUsage: Check = (certificate, { chain, link, usage }) => {
  const stated = factsOf(certificate).extendedKeyUsage;
  if (link > 0 && stated === undefined) return undefined;
  const [leaf] = chain;
  const isCa = leaf !== undefined && factsOf(leaf).isCa;
  const wanted = usage === undefined ? usagesOf(leaf as X509Certificate) : [usage];
  if (link === 0 && wanted.length === 0) return isCa ? undefined : "does not say that it is for servers or clients";
  const missing = wanted.find((one) => !stated?.includes(USAGES[one]));
  return missing === undefined ? undefined : `is not for ${USAGE_WORDS[missing]}`;
};

/** The fault is reported for the CA that has the constraint. */
const certifiedAForbiddenName: Check = (certificate, { chain, link }) => {
  const { constraints } = factsOf(certificate);
  if (constraints === undefined || link === 0) return undefined;
  for (const below of chain.slice(0, link)) {
    const violation = nameViolation(factsOf(below), constraints);
    if (violation !== undefined) return `may not certify ${violation.name}: ${violation.why} (name constraints)`;
  }
  return undefined;
};

const CHECKS: readonly Check[] = [
  hasExpired,
  isTooEarly,
  isRevoked,
  hasWeakKey,
  hasWeakSignature,
  hasUnknownExtension,
  isNoCa,
  isTooFarUp,
  hasOtherUsage,
  certifiedAForbiddenName,
];

function dateText(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
