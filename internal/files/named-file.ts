import { createReadStream, statSync } from "node:fs";
import { codeOf, DomainError, type ErrorKind } from "../base/errors.ts";
import { MAX_BYTES, readRegularFile, readRegularFileSync, tooLong } from "./regular-file.ts";
import { systemReason } from "./system-reason.ts";

/**
 * The text of a file that a configuration names, as `readRegularFile` reads it.
 * @throws DomainError of `kind`, naming the file and saying why it cannot be read
 */
export async function readNamedFile(path: string, kind: ErrorKind = "invalid"): Promise<string> {
  try {
    return await readRegularFile(path);
  } catch (cause) {
    throw unreadable(path, cause, kind);
  }
}

/** The synchronous form of `readNamedFile`. */
export function readNamedFileSync(path: string, kind: ErrorKind = "invalid"): string {
  try {
    return readRegularFileSync(path);
  } catch (cause) {
    throw unreadable(path, cause, kind);
  }
}

/** As `readNamedFile`, for a file on a command line: waits for a pipe, such as the shell's `<(…)`. */
export async function readNamedInput(path: string, kind: ErrorKind = "invalid"): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of createReadStream(path)) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > MAX_BYTES) throw tooLong(MAX_BYTES);
    }
  } catch (cause) {
    throw unreadable(path, cause, kind);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** `cannot read PATH: there is no such file`, for an error of the system or of a reader of this room. */
export function unreadableText(path: string, cause: unknown): string {
  return `cannot read ${path}: ${systemReason(cause)}`;
}

/** True if the error, or the cause of a DomainError, says that there is no such file. */
export function isMissing(err: unknown): boolean {
  if (err instanceof DomainError) return isMissing(err.cause);
  return codeOf(err) === "ENOENT";
}

/** True if every user of this machine can read or replace the file: a key or password in it is not secret. */
export function isOpenToAll(path: string): boolean {
  return (statSync(path).mode & 0o007) !== 0;
}

function unreadable(path: string, cause: unknown, kind: ErrorKind): DomainError {
  return new DomainError(kind, unreadableText(path, cause), { cause });
}
