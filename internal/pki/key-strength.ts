import type { X509Certificate } from "node:crypto";

/**
 * Weaker keys have less than 112 bits of security (NIST SP 800-57). OpenSSL's security level 2 refuses them; they are
 * refused here whatever level an OpenSSL version defaults to.
 */
const MIN_RSA_BITS = 2048;
const CURVES: ReadonlySet<string> = new Set(["prime256v1", "secp384r1", "secp521r1"]);

/** The key is too weak for a certificate here: RSA below 2048 bits, a small or uncommon curve, or DSA. */
export function hasWeakKey(certificate: X509Certificate): boolean {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = certificate.publicKey;
  switch (type) {
    case "rsa":
    case "rsa-pss":
      return (details?.modulusLength ?? 0) < MIN_RSA_BITS;
    case "ec":
      return !CURVES.has(details?.namedCurve ?? "");
    default:
      return type !== "ed25519" && type !== "ed448";
  }
}
