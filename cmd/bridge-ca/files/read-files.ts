import type { X509Certificate } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { DomainError } from "../../../internal/base/errors.ts";
import { factsOf } from "../../../internal/pki/certificate-facts.ts";
import { certificatesOf } from "../../../internal/pki/pem.ts";
import { type RevocationList, revocationListsOf } from "../../../internal/pki/revocation-list.ts";
import { fileError } from "./file-errors.ts";

const MAX_BYTES = 64 * 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;
/** The limit for a pipe whose writer writes nothing. */
const PATIENCE_MS = 10_000;
const LOOK_EVERY_MS = 20;

export interface ReadFile {
  readonly text: string;
  /** Permission bits. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/**
 * Reads a file or a pipe to its end; does not wait for a writer of a FIFO.
 * @throws DomainError `not-found`, or `exhausted` when it cannot be read; `invalid` when it is too large
 */
export function readFile(path: string): ReadFile {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const { mode, uid, gid } = fstatSync(fd);
      return { text: readToEnd(fd, path), mode: mode & 0o777, uid, gid };
    } finally {
      closeSync(fd);
    }
  } catch (err) {
    throw fileError("read", path, err);
  }
}

function readToEnd(fd: number, path: string): string {
  const chunks: Buffer[] = [];
  let [length, waited] = [0, 0];
  for (;;) {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    const count = readNow(fd, chunk);
    if (count === 0) return Buffer.concat(chunks).toString("utf8");
    if (count === undefined && waited >= PATIENCE_MS) {
      throw new DomainError("exhausted", `cannot read ${path}: no input arrives`);
    }
    if (count === undefined) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_EVERY_MS);
      waited += LOOK_EVERY_MS;
      continue;
    }
    chunks.push(chunk.subarray(0, count));
    length += count;
    waited = 0;
    if (length > MAX_BYTES) throw new DomainError("invalid", `${path} is larger than ${MAX_BYTES} bytes`);
  }
}

/** Undefined: the pipe is empty, and its writer still has it open. */
function readNow(fd: number, into: Buffer): number | undefined {
  try {
    return readSync(fd, into, 0, into.length, null);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === "EAGAIN") return undefined;
    throw err;
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
