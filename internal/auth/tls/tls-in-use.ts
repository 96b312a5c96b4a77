import { createHash } from "node:crypto";
import { certificatesOf } from "../../pki/pem.ts";
import type { CheckedTls } from "../../pki/tls-files.ts";

/** The certificate and CAs that a sidecar serves with; they show a control plane whether a new Secret has arrived. */
export interface TlsInUse {
  /** Serial of the certificate, upper-case hexadecimal. Empty: plaintext. */
  readonly tlsSerial: string;
  /** SHA-256 of each CA certificate (DER), lower-case hexadecimal. Empty: plaintext. */
  readonly caSha256: string[];
}

export function tlsInUse(tls: CheckedTls | undefined): TlsInUse {
  if (tls === undefined) return { tlsSerial: "", caSha256: [] };
  const caSha256 = certificatesOf(tls.files.ca).map((ca) => createHash("sha256").update(ca.raw).digest("hex"));
  return { tlsSerial: tls.leaf.serialNumber, caSha256 };
}
