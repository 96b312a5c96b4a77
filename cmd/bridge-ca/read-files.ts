import type { X509Certificate } from "node:crypto";
import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { DomainError } from "../../internal/base/errors.ts";
import { factsOf } from "../../internal/pki/certificate-facts.ts";
import { certificatesOf } from "../../internal/pki/pem.ts";
import { type RevocationList, revocationListsOf } from "../../internal/pki/revocation-list.ts";
import { fileError } from "./file-errors.ts";

const MAX_BYTES = 64 * 1024 * 1024;

export interface ReadFile {
  readonly text: string;
  /** Permission bits. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/** @throws DomainError `not-found`, or `exhausted` when it cannot be read */
export function readFile(path: string): ReadFile {
  try {
    const fd = openSync(path, "r");
    try {
      const { mode, uid, gid, size } = fstatSync(fd);
      if (size > MAX_BYTES) throw new DomainError("invalid", `${path} is larger than ${MAX_BYTES} bytes`);
      return { text: readFileSync(fd, "utf8"), mode: mode & 0o777, uid, gid };
    } finally {
      closeSync(fd);
    }
  } catch (err) {
    throw fileError("read", path, err);
  }
}

/** @throws DomainError that names the file */
export function readCertificates(path: string): readonly [X509Certificate, ...X509Certificate[]] {
  const { text } = readFile(path);
  return named(path, () => {
    const certificates = certificatesOf(text);
    for (const certificate of certificates) factsOf(certificate);
    return certificates;
  });
}

/** @throws DomainError that names the file, `invalid` when it holds more than one */
export function readCertificate(path: string): X509Certificate {
  const [certificate, another] = readCertificates(path);
  if (another !== undefined) throw new DomainError("invalid", `${path} holds more than one certificate`);
  return certificate;
}

/** @throws DomainError that names the file */
export function readLists(path: string): readonly RevocationList[] {
  const { text } = readFile(path);
  return named(path, () => revocationListsOf(text));
}

function named<T>(path: string, parse: () => T): T {
  try {
    return parse();
  } catch (err) {
    if (!(err instanceof DomainError)) throw err;
    throw new DomainError(err.kind, `cannot use ${path}: ${err.message}`, { cause: err, fields: err.fields });
  }
}
