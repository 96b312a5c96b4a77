import { type KeyObject, randomBytes, X509Certificate } from "node:crypto";
import { factsOf } from "./certificate-facts.ts";
import { der, integer, objectId, pemText, sequence, time } from "./der/der-writer.ts";
import { OID } from "./der/object-ids.ts";
import { authorityKeyId, keyIdOf, subjectKeyId } from "./extensions.ts";
import { signatureAlgorithm, signed } from "./signature.ts";

/** A CA's certificate and the private key that belongs to it. */
export interface Signer {
  readonly certificate: X509Certificate;
  readonly key: KeyObject;
}

export interface CertificateContent {
  /** Encoded name. */
  readonly subject: Uint8Array;
  readonly publicKey: KeyObject;
  /** Wall clock, ms; rounded down to seconds. */
  readonly notBefore: number;
  readonly notAfter: number;
  /** Encoded extensions, without the key identifiers, which are added. */
  readonly extensions: readonly Uint8Array[];
  /** Key identifier that certificates of this CA already contain; default: computed from the key. */
  readonly keyId?: Uint8Array | undefined;
}

/** Certificates and lists are valid from this long ago, for clocks that are slow. */
export const BACKDATE_MS = 60_000;

/** A certificate with a random serial of 126 bits, signed by a CA. PEM. */
export function certify(content: CertificateContent, { certificate, key }: Signer): string {
  const { subject: issuer, subjectKeyId: issuerKeyId } = factsOf(certificate);
  return build(content, issuer, issuerKeyId, key);
}

/** A self-signed certificate: the root of a CA. PEM. */
export function certifySelf(content: CertificateContent, key: KeyObject): string {
  return build(content, content.subject, keyIdOf(content.publicKey), key);
}

/** An encoded name with a single common name. */
export function commonName(text: string): Buffer {
  return sequence(der(0x31, sequence(objectId(OID.commonName), der(0x0c, Buffer.from(text)))));
}

function build(
  content: CertificateContent,
  issuer: Uint8Array,
  issuerKeyId: Uint8Array | undefined,
  key: KeyObject,
): string {
  const { subject, publicKey, notBefore, notAfter, extensions, keyId = keyIdOf(publicKey) } = content;
  const body = sequence(
    der(0xa0, integer(2)), // version 3
    integer(serialNumber()),
    signatureAlgorithm(key),
    issuer,
    sequence(time(notBefore), time(notAfter)),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(...extensions, subjectKeyId(keyId), ...(issuerKeyId ? [authorityKeyId(issuerKeyId)] : []))),
  );
  const pem = pemText("CERTIFICATE", signed(body, key));
  factsOf(new X509Certificate(pem)); // throws if this program could not read its own certificate
  return pem;
}

/**
 * A serial of 16 bytes, always the same length: the highest bit is 0, so that it is positive, and the next bit is 1.
 */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes;
}
