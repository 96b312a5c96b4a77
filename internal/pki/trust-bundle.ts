import type { X509Certificate } from "node:crypto";
import { DomainError } from "../base/errors.ts";
import { checkAuthority, isIssuedBy, isSelfSigned } from "./authority.ts";
import { factsOf } from "./certificate-facts.ts";
import { trustDomainOf } from "./trust-domain.ts";

/** A certificate and its file, which errors name. */
export interface NamedCertificate {
  readonly file: string;
  readonly certificate: X509Certificate;
}

/**
 * The certificates of a trust bundle: own roots first, then the other CAs, as certified by these roots.
 * @param previous own roots that are being replaced
 * @throws DomainError `denied` if a CA would be trusted beyond its cross-signature, or two CAs have the same name
 */
export function trustBundle(
  own: NamedCertificate,
  previous: readonly NamedCertificate[],
  crossSigned: readonly NamedCertificate[],
  now: number,
): readonly X509Certificate[] {
  const roots = [own, ...previous];
  for (const root of roots) checkRoot(root, own, now);
  for (const other of crossSigned) checkCrossSigned(other, roots, now);
  const all = [...roots, ...crossSigned];
  for (const [i, one] of all.entries()) {
    const namesake = all.slice(0, i).find((before) => isNamedAlike(before.certificate, one.certificate));
    if (namesake !== undefined) {
      throw new DomainError("denied", `${one.file} and ${namesake.file} are CAs of the same name`, {
        fields: { hint: "a bundle contains one certificate of each CA; omit the older one" },
      });
    }
  }
  return all.map(({ certificate }) => certificate);
}

function checkRoot({ file, certificate }: NamedCertificate, own: NamedCertificate, now: number): void {
  checkAuthority(certificate, now, file);
  if (!isSelfSigned(certificate)) {
    throw new DomainError("denied", `${file} is not a root: another CA signed it`, {
      fields: { hint: "give your own CA with --ca, and the CAs that it cross-signed with --cross-signed" },
    });
  }
  if (trustDomainOf(certificate) !== trustDomainOf(own.certificate)) {
    throw new DomainError("denied", `${file} has another trust domain than ${own.file}`, {
      fields: { hint: "--previous-ca is for your own CA while it is replaced; cross-sign every other one" },
    });
  }
}

function checkCrossSigned(
  { file, certificate }: NamedCertificate,
  roots: readonly NamedCertificate[],
  now: number,
): void {
  if (isSelfSigned(certificate)) {
    throw new DomainError("denied", `${file} is a self-signed CA: in a bundle it would be trusted without limits`, {
      fields: { hint: `cross-sign it first: bridge-ca cross-sign --target-ca ${file} …` },
    });
  }
  checkAuthority(certificate, now, file);
  if (!roots.some((root) => isIssuedBy(certificate, root.certificate))) {
    throw new DomainError("denied", `${file} was not signed by ${roots.map((root) => root.file).join(" or ")}`);
  }
  const { pathLength, constraints, extendedKeyUsage } = factsOf(certificate);
  if (pathLength === undefined || constraints === undefined || extendedKeyUsage === undefined) {
    throw new DomainError("denied", `${file} has no limits of path length, names and usage`, {
      fields: { hint: "create it with bridge-ca cross-sign" },
    });
  }
}

function isNamedAlike(a: X509Certificate, b: X509Certificate): boolean {
  return factsOf(a).subject.equals(factsOf(b).subject);
}
