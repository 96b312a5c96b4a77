import { statSync } from "node:fs";
import { DomainError } from "../base/errors.ts";
import { readRegularFileSync, unreadableText } from "../files/regular-file.ts";

/**
 * The text of a file that a configuration names.
 * @throws DomainError `invalid`, naming the file and saying why it cannot be read
 */
export function readNamedFile(path: string): string {
  try {
    return readRegularFileSync(path);
  } catch (cause) {
    throw new DomainError("invalid", unreadableText(path, cause), { cause });
  }
}

/** True if every user of this machine can read or replace the file: a key or password in it is no secret. */
export function isOpenToAll(path: string): boolean {
  return (statSync(path).mode & 0o007) !== 0;
}
