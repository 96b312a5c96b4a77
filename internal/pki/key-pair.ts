import { generateKeyPair, type KeyObject } from "node:crypto";
import { promisify } from "node:util";

/** Types of certificate keys; the first is the default. */
export const KEY_TYPES = ["ecdsa-p384", "rsa-4096"] as const;

export type KeyType = (typeof KEY_TYPES)[number];

export interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

const generate = promisify(generateKeyPair);

export async function newKeyPair(type: KeyType): Promise<KeyPair> {
  if (type === "rsa-4096") return await generate("rsa", { modulusLength: 4096 });
  return await generate("ec", { namedCurve: "P-384" });
}

/** A key pair for signing JSON Web Tokens. */
export async function newTokenKeyPair(): Promise<KeyPair> {
  return await generate("ed25519");
}

export function privateKeyPem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

export function publicKeyPem(key: KeyObject): string {
  return key.export({ type: "spki", format: "pem" }).toString();
}
