import { createCipheriv, createPrivateKey, type KeyObject, pbkdf2, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { DomainError } from "../base/errors.ts";
import { der, integer, objectId, octetString, pemText, sequence } from "./der/der-writer.ts";
import { OID } from "./der/object-ids.ts";

/** PBKDF2 iterations: each guess at the passphrase costs about a third of a second. */
const ITERATIONS = 600_000;
/** The longest passphrase that OpenSSL reads. */
const MAX_PASSPHRASE_BYTES = 1024;

const derive = promisify(pbkdf2);

/**
 * Encrypts a private key with a passphrase: PKCS #8, PBES2 with PBKDF2 (HMAC-SHA-256) and AES-256-CBC, as OpenSSL reads
 * it. PEM.
 * @throws DomainError `invalid` for a passphrase that is empty or longer than 1024 bytes
 */
export async function encryptedKeyPem(key: KeyObject, passphrase: string): Promise<string> {
  const bytes = Buffer.byteLength(passphrase);
  if (bytes === 0) throw new DomainError("invalid", "the passphrase is empty");
  if (bytes > MAX_PASSPHRASE_BYTES) {
    throw new DomainError("invalid", `the passphrase has ${bytes} bytes, more than ${MAX_PASSPHRASE_BYTES}`);
  }
  const salt = randomBytes(16);
  const iv = randomBytes(16);
  const cipher = createCipheriv("aes-256-cbc", await derive(passphrase, salt, ITERATIONS, 32, "sha256"), iv);
  const plain = key.export({ type: "pkcs8", format: "der" });
  const encrypted = Buffer.concat([cipher.update(plain), cipher.final()]);
  const prf = sequence(objectId(OID.hmacWithSha256), der(0x05));
  const kdf = sequence(objectId(OID.pbkdf2), sequence(octetString(salt), integer(ITERATIONS), prf));
  const scheme = sequence(objectId(OID.pbes2), sequence(kdf, sequence(objectId(OID.aes256Cbc), octetString(iv))));
  return pemText("ENCRYPTED PRIVATE KEY", sequence(scheme, octetString(encrypted)));
}

export function isEncryptedKey(pem: string): boolean {
  return /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED\r?$/m.test(pem);
}

/**
 * The private key of a PEM text. Errors contain `name`, never the passphrase or the key.
 * @throws DomainError `unauthenticated` for a wrong passphrase, `invalid` for a text without a private key
 */
export function openKey(pem: string, name: string, passphrase?: string): KeyObject {
  if (!isEncryptedKey(pem)) return readKey(pem, name);
  try {
    return createPrivateKey({ key: pem, passphrase: passphrase ?? "" });
  } catch (cause) {
    throw new DomainError("unauthenticated", `cannot open ${name}: the passphrase is wrong, or the file is damaged`, {
      cause,
    });
  }
}

function readKey(pem: string, name: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    throw new DomainError("invalid", `${name} is not a private key in PEM`, { cause });
  }
}
