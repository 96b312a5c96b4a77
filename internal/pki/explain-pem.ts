/** What a file is meant to hold. */
export type PemKind = "certificate" | "key";

export interface PemFault {
  /** What is wrong with it, to follow its name. */
  readonly why: string;
  /** How to mend it; absent where no command does. */
  readonly hint?: string;
}

const MEANT: Readonly<Record<PemKind, string>> = { certificate: "a certificate", key: "a private key" };

/**
 * Why a text that a person named is not what it is meant to be, and how to mend it; undefined where nothing is plainly
 * wrong with it. `path` is for the command.
 */
export function explainPem(text: string, kind: PemKind, path: string): PemFault | undefined {
  if (text.trim() === "") return { why: "is empty" };
  const key = /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/.test(text);
  const certificate = text.includes("-----BEGIN CERTIFICATE-----");
  if (kind === "key" && /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(text)) {
    const hint = `take the passphrase away: (umask 077; openssl pkey -in ${path} -out NEW.key)`;
    return { why: "is encrypted with a passphrase", hint };
  }
  if (kind === "key" && !key && certificate) {
    return { why: "holds a certificate, not a private key", hint: "are the certificate and the key swapped?" };
  }
  if (kind === "key" && !key && text.includes("-----BEGIN PUBLIC KEY-----")) {
    return { why: "holds a public key, not a private key" };
  }
  if (kind === "certificate" && !certificate && key) {
    return { why: "holds a private key, not a certificate", hint: "are the certificate and the key swapped?" };
  }
  if (text.includes("-----BEGIN ")) return undefined;
  if (text.startsWith("0")) {
    const command = kind === "key" ? "pkey" : "x509";
    const hint = `convert it: openssl ${command} -inform DER -in ${path} -out NEW.pem; of PKCS #12: openssl pkcs12 -in ${path} -nodes`;
    return { why: "is in a binary form (DER), not in PEM", hint };
  }
  return { why: `holds no ${MEANT[kind].slice(2)} in PEM` };
}
