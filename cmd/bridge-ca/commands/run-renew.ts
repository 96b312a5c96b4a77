import { X509Certificate } from "node:crypto";
import { DomainError } from "../../../internal/base/errors.ts";
import { printable } from "../../../internal/base/printable-text.ts";
import type { NewFile } from "../../../internal/files/file-set.ts";
import { isIssuedBy } from "../../../internal/pki/authority.ts";
import { openKey } from "../../../internal/pki/ca-key.ts";
import { factsOf } from "../../../internal/pki/certificate-facts.ts";
import { usagesOf } from "../../../internal/pki/judge-chain.ts";
import { type KeyPair, type KeyType, newKeyPair, privateKeyPem } from "../../../internal/pki/key-pair.ts";
import { renewedLeaf } from "../../../internal/pki/renewed-leaf.ts";
import { trustDomainOf } from "../../../internal/pki/trust-domain.ts";
import { readState, recordIssued, statePlace } from "../ca/ca-record.ts";
import { checkNotCaFiles } from "../ca/check-not-ca-files.ts";
import type { CaContext } from "../ca/context.ts";
import type { CaWithKey } from "../ca/open-ca.ts";
import { openCa } from "../ca/open-ca.ts";
import { endText } from "../ca/words.ts";
import { readCertificate, readCertificates, readFile } from "../files/read-files.ts";
import { locationOf, privateFile, publicFile, recoverFolder, takeFolders, writeFiles } from "../files/write-files.ts";

export interface RenewOptions extends CaWithKey {
  readonly cert: string;
  readonly key: string;
  readonly keepKey: boolean;
  /** Undefined: the type of the old key. */
  readonly keyType: KeyType | undefined;
  /** Undefined: renew now, due or not. */
  readonly withinMs: number | undefined;
  readonly days: number | undefined;
  /** The CA that issued the certificate, if it is not the CA that renews it. */
  readonly fromCa: string | undefined;
}

/**
 * Replaces a certificate with one for the same names and a later expiry, and its key with a new key unless the old one
 * is kept.
 */
export async function runRenew(context: CaContext, options: RenewOptions): Promise<number> {
  const { clock, out } = context;
  const folders = [locationOf(options.cert).folder, locationOf(options.key).folder];
  if (!options.keepKey) checkNotCaFiles(options, [options.key]);
  let old = readCertificates(options.cert)[0];
  {
    await using _taken = await takeFolders(context, folders);
    for (const folder of folders) recoverFolder(context, folder);
    old = readCertificates(options.cert)[0];
  }
  checkOrigin(old, options);
  if (!isDue(old, options, clock.now())) {
    out.line(printable`${options.cert}  not due, ${endText(old, clock.now())}`);
    return 0;
  }
  const signer = await openCa(context, options);
  const keys = await keysFor(old, options);
  const pem = renewedLeaf(old, keys.publicKey, signer, { days: options.days, now: clock.now() });
  const certificate = new X509Certificate(pem);
  {
    await using _taken = await takeFolders(context, [...folders, statePlace(options.caKey).folder]);
    if (readCertificates(options.cert)[0].fingerprint256 !== old.fingerprint256) {
      throw new DomainError("unavailable", `${options.cert} was changed by another process in the meantime`);
    }
    if (readState(options.caKey).revoked.some(({ serial }) => serial === old.serialNumber)) {
      throw new DomainError("denied", `${options.cert} is revoked and is not renewed`, {
        fields: { hint: "issue a new certificate under another name: bridge-ca issue" },
      });
    }
    const type = usagesOf(old).includes("client") ? "client" : "server";
    recordIssued(context, options.caKey, certificate, { name: factsOf(old).commonName ?? "", type });
    replace(context, options, pem, options.keepKey ? undefined : privateKeyPem(keys.privateKey));
  }
  const key = options.keepKey ? "same key" : "new key";
  out.line(printable`${options.cert}  renewed, ${key}, ${endText(certificate, clock.now())}`);
  return 0;
}

/** A certificate from another CA must not become one of this CA. */
function checkOrigin(old: X509Certificate, { cert, ca, fromCa }: RenewOptions): void {
  const renewing = readCertificate(ca);
  const from = fromCa === undefined ? renewing : readCertificate(fromCa);
  if (!isIssuedBy(old, from)) {
    throw new DomainError("denied", `${cert} was not issued by ${fromCa ?? ca}`, {
      fields: { hint: "if your earlier CA issued it, name that one with --from-ca FILE" },
    });
  }
  if (trustDomainOf(from) !== trustDomainOf(renewing)) {
    throw new DomainError("denied", `${fromCa ?? ca} and ${ca} have different trust domains`);
  }
}

/** A certificate whose key file holds another key is due: a renewal was interrupted after it had replaced the key. */
function isDue(old: X509Certificate, { withinMs, key }: RenewOptions, now: number): boolean {
  if (withinMs === undefined || old.validToDate.getTime() - now <= withinMs) return true;
  try {
    return !old.checkPrivateKey(openKey(readFile(key).text, key));
  } catch {
    return true;
  }
}

async function keysFor(old: X509Certificate, options: RenewOptions): Promise<KeyPair> {
  const { key, keepKey, keyType } = options;
  const before: KeyType = old.publicKey.asymmetricKeyType === "rsa" ? "rsa-4096" : "ecdsa-p384";
  if (!keepKey) return await newKeyPair(keyType ?? before);
  const privateKey = openKey(readFile(key).text, key);
  if (!old.checkPrivateKey(privateKey)) {
    throw new DomainError("denied", `${key} is not the key of ${options.cert}`, {
      fields: { hint: "omit --keep-key to create a new key, or name the right one with --key" },
    });
  }
  return { publicKey: old.publicKey, privateKey };
}

/**
 * Writes the key first: a reader that reads in between sees that key and certificate differ, and keeps its old pair.
 */
function replace(context: CaContext, options: RenewOptions, cert: string, key: string | undefined): void {
  const certPlace = locationOf(options.cert);
  const certFile = likeBefore(publicFile(certPlace.name, cert), options.cert);
  const keyPlace = locationOf(options.key);
  const keyFiles = key === undefined ? [] : [likeBefore(privateFile(keyPlace.name, key), options.key)];
  const isOneFolder = keyPlace.folder === certPlace.folder;
  if (!isOneFolder && keyFiles.length > 0) writeFiles(context, keyPlace.folder, keyFiles, "replace");
  writeFiles(context, certPlace.folder, [...(isOneFolder ? keyFiles : []), certFile], "replace");
}

/**
 * Gives a file the mode of the file that it replaces and, if we are root, its owner. A key that others can use gets
 * mode 0600.
 */
function likeBefore(file: NewFile, path: string): NewFile {
  try {
    const { mode, uid, gid } = readFile(path);
    const isOpenKey = file.mode === 0o600 && (mode & 0o027) !== 0;
    const isOthers = process.getuid?.() === 0 && (uid !== 0 || gid !== 0);
    return { ...file, mode: isOpenKey ? 0o600 : mode, ...(isOthers && { owner: { uid, gid } }) };
  } catch {
    return file; // there was no such file
  }
}
