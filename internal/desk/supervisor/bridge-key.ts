import { createPublicKey, type KeyObject } from "node:crypto";
import { signingKeyOf } from "../../auth/mint-token.ts";
import { DomainError } from "../../base/errors.ts";
import { readPlainFileSync } from "../../files/plain-file.ts";
import { replaceSecret } from "../../files/replace-secret.ts";
import { systemReason } from "../../files/system-reason.ts";
import { newTokenKeyPair, privateKeyPem, publicKeyPem } from "../../pki/key-pair.ts";

const MAX_BYTES = 16 * 1024;

/**
 * The bridge's key pair, in a file of the back that the first start creates. An empty file, as a full volume may leave
 * it, is replaced.
 */
export async function bridgeKey(path: string): Promise<{ readonly key: KeyObject; readonly publicPem: string }> {
  const found = readPlainFileSync(path, MAX_BYTES);
  const pem = found || (await newKey(path));
  const key = signingKeyOf(pem, path);
  return { key, publicPem: publicKeyPem(createPublicKey(key)) };
}

async function newKey(path: string): Promise<string> {
  const pem = privateKeyPem((await newTokenKeyPair()).privateKey);
  try {
    replaceSecret(path, pem);
  } catch (cause) {
    throw new DomainError("unavailable", `cannot write ${path}: ${systemReason(cause)}`, { cause });
  }
  return pem;
}
