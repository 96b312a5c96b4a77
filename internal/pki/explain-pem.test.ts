import { expect, it } from "vitest";
import { explainPem, type PemKind } from "./explain-pem.ts";

const pem = (label: string, text = "AAAA") => `-----BEGIN ${label}-----\n${text}\n-----END ${label}-----\n`;

it.each<[string, string, PemKind, string, RegExp | undefined]>([
  ["nothing", "", "key", "is empty", undefined],
  ["blanks", " \n", "certificate", "is empty", undefined],
  ["an encrypted key", pem("ENCRYPTED PRIVATE KEY"), "key", "is encrypted with a passphrase", /openssl pkey -in \/k /],
  [
    "a key encrypted in the old form",
    pem("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA"),
    "key",
    "is encrypted with a passphrase",
    /openssl pkey/,
  ],
  ["a certificate in place of a key", pem("CERTIFICATE"), "key", "holds a certificate, not a private key", /swapped/],
  ["a public key", pem("PUBLIC KEY"), "key", "holds a public key, not a private key", undefined],
  [
    "a key in place of a certificate",
    pem("PRIVATE KEY"),
    "certificate",
    "holds a private key, not a certificate",
    /swapped/,
  ],
  ["a key in DER", "0\ufffd\u0000", "key", "is in a binary form (DER), not in PEM", /openssl pkey -inform DER -in \/k/],
  [
    "a certificate in DER",
    "0\ufffd",
    "certificate",
    "is in a binary form (DER), not in PEM",
    /openssl x509 -inform DER/,
  ],
  ["any text", "hello", "certificate", "holds no certificate in PEM", undefined],
])("%s", (_, text, kind, why, hint) => {
  const told = explainPem(text, kind, "/k");
  expect(told?.why).toBe(why);
  if (hint === undefined) expect(told?.hint).toBeUndefined();
  else expect(told?.hint).toMatch(hint);
});

it("accepts PEM of the right kind", () => {
  expect(explainPem(pem("EC PRIVATE KEY"), "key", "/k")).toBeUndefined();
  expect(explainPem(pem("CERTIFICATE") + pem("PRIVATE KEY"), "certificate", "/k")).toBeUndefined();
});
