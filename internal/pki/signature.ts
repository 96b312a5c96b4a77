import { type KeyObject, sign } from "node:crypto";
import { DomainError } from "../base/errors.ts";
import { bitString, der, objectId, sequence } from "./der/der-writer.ts";

interface Algorithm {
  readonly id: string;
  /** null: the key determines the hash. */
  readonly hash: string | null;
}

const ECDSA: Readonly<Record<string, Algorithm>> = {
  prime256v1: { id: "1.2.840.10045.4.3.2", hash: "sha256" },
  secp384r1: { id: "1.2.840.10045.4.3.3", hash: "sha384" },
  secp521r1: { id: "1.2.840.10045.4.3.4", hash: "sha512" },
};
const RSA: Algorithm = { id: "1.2.840.113549.1.1.12", hash: "sha384" };
const ED25519: Algorithm = { id: "1.3.101.112", hash: null };

const LEAST_RSA_BITS = 2048;

/** The encoded algorithm with which a key signs, as it stands in the certificate and beside the signature. */
export function signatureAlgorithm(key: KeyObject): Buffer {
  const { id } = algorithmOf(key);
  return sequence(objectId(id), ...(id === RSA.id ? [der(0x05)] : []));
}

/** `body` followed by its signature, as in certificates and lists. `key` is a private key that `weaknessOf` accepts. */
export function signed(body: Uint8Array, key: KeyObject): Buffer {
  const { hash } = algorithmOf(key);
  return sequence(body, signatureAlgorithm(key), bitString(sign(hash, body, key)));
}

/** Why a key is too weak or of an unsupported kind, as a noun phrase; undefined: it is strong enough. */
export function weaknessOf(key: KeyObject): string | undefined {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details = {} } = key;
  if (type === "ed25519") return undefined;
  if (type === "ec") {
    const curve = details.namedCurve ?? "";
    return curve in ECDSA ? undefined : `an elliptic-curve key on ${curve || "an unknown curve"}`;
  }
  if (type !== "rsa") return `a key of type ${type ?? "unknown"}`;
  const bits = details.modulusLength ?? 0;
  return bits < LEAST_RSA_BITS ? `an RSA key of ${bits} bits, fewer than ${LEAST_RSA_BITS}` : undefined;
}

function algorithmOf(key: KeyObject): Algorithm {
  const weakness = weaknessOf(key);
  if (weakness !== undefined) throw new DomainError("denied", `cannot sign with ${weakness}`);
  if (key.asymmetricKeyType === "ed25519") return ED25519;
  if (key.asymmetricKeyType === "rsa") return RSA;
  return ECDSA[key.asymmetricKeyDetails?.namedCurve ?? ""] as Algorithm;
}
