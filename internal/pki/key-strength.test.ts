import { generateKeyPairSync, type KeyObject, type X509Certificate } from "node:crypto";
import { expect, it } from "vitest";
import { hasWeakKey } from "./key-strength.ts";

const isWeak = ({ publicKey }: { readonly publicKey: KeyObject }) => hasWeakKey({ publicKey } as X509Certificate);

it.each([
  ["RSA 2048", generateKeyPairSync("rsa", { modulusLength: 2048 }), false],
  ["RSA 1024", generateKeyPairSync("rsa", { modulusLength: 1024 }), true],
  ["P-256", generateKeyPairSync("ec", { namedCurve: "P-256" }), false],
  ["P-384", generateKeyPairSync("ec", { namedCurve: "P-384" }), false],
  ["P-192", generateKeyPairSync("ec", { namedCurve: "prime192v1" }), true],
  ["Ed25519", generateKeyPairSync("ed25519"), false],
  ["DSA", generateKeyPairSync("dsa", { modulusLength: 2048, divisorLength: 256 }), true],
])("%s", (_, keys, weak) => {
  expect(isWeak(keys)).toBe(weak);
});
