import type { KeyObject, X509Certificate } from "node:crypto";
import { DomainError } from "../base/errors.ts";
import { factsOf } from "./certificate-facts.ts";
import { certify, type Signer } from "./certify.ts";
import { crlDistributionPoints, extendedKeyUsage, keyUsage, leafConstraints, subjectAltName } from "./extensions.ts";
import { usagesOf } from "./judge-chain.ts";
import { leafDates } from "./leaf.ts";

const DAY_MS = 86_400_000;

export interface RenewalOptions {
  /** Default: the lifetime of the old certificate. */
  readonly days: number | undefined;
  /** Wall clock, ms. */
  readonly now: number;
}

/**
 * A leaf with the names and usages of an old one, and new dates and serial, from the same CA or another. PEM.
 * @throws DomainError `denied` for the certificate of a CA, or one with names or usages that are not issued here
 */
export function renewedLeaf(
  old: X509Certificate,
  publicKey: KeyObject,
  signer: Signer,
  options: RenewalOptions,
): string {
  const { subject, names, isCa, crlUrls } = factsOf(old);
  if (isCa)
    throw new DomainError("denied", "a CA's certificate is replaced, not renewed", {
      fields: { hint: "see docs/trust.md for the steps; renew a cross-signature with cross-sign --force" },
    });
  const known = names.flatMap((name) => (name.type === "other" ? [] : [name]));
  const usages = usagesOf(old);
  if (known.length !== names.length || usages.length === 0) {
    throw new DomainError("denied", "the certificate has names or usages that bridge-ca does not issue");
  }
  const lifeDays = Math.max(1, (old.validToDate.getTime() - old.validFromDate.getTime()) / DAY_MS);
  const dates = leafDates({ days: options.days ?? lifeDays, now: options.now }, signer);
  const extensions = [
    leafConstraints(),
    keyUsage("digitalSignature"),
    extendedKeyUsage(...usages.map((usage) => `${usage}Auth` as const)),
    ...(known.length > 0 ? [subjectAltName(known)] : []),
    ...(crlUrls.length > 0 ? [crlDistributionPoints(crlUrls)] : []),
  ];
  return certify({ subject, publicKey, ...dates, extensions }, signer);
}
