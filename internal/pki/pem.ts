import { X509Certificate } from "node:crypto";
import { DomainError } from "../base/errors.ts";

/**
 * What stands in a text between `-----BEGIN label-----` and its end, decoded, in order. Other text around it is
 * ignored.
 */
export function pemBlocks(text: string, label: string): Buffer[] {
  const block = new RegExp(`-----BEGIN ${label}-----([A-Za-z0-9+/=\\s]*)-----END ${label}-----`, "g");
  return [...text.matchAll(block)].map(([, base64 = ""]) => Buffer.from(base64, "base64"));
}

/** The first certificate of a PEM text, whatever follows it. @throws as `certificatesOf` */
export function firstCertificateOf(pem: string): X509Certificate {
  const end = "-----END CERTIFICATE-----";
  const behind = pem.indexOf(end);
  return certificatesOf(behind === -1 ? pem : pem.slice(0, behind + end.length))[0];
}

/** The certificates of a PEM text. @throws DomainError `invalid` when there is none, or one cannot be read. */
export function certificatesOf(pem: string): [X509Certificate, ...X509Certificate[]] {
  const [first, ...rest] = pemBlocks(pem, "CERTIFICATE").map((der) => {
    try {
      return new X509Certificate(der);
    } catch (cause) {
      throw new DomainError("invalid", "a certificate cannot be read", { cause });
    }
  });
  if (first === undefined) throw new DomainError("invalid", "no certificate in it");
  return [first, ...rest];
}
