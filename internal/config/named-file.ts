import { statSync } from "node:fs";
import { DomainError, errorText } from "../base/errors.ts";
import { readRegularFileSync } from "../files/regular-file.ts";

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  ENOTDIR: "a part of the path is not a folder",
  EISDIR: "it is a folder",
  EACCES: "permission denied",
  EPERM: "permission denied",
};

/**
 * The text of a file that a configuration names.
 * @throws DomainError `invalid`, naming the file and saying why it cannot be read
 */
export function readNamedFile(path: string): string {
  try {
    return readRegularFileSync(path);
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException;
    throw new DomainError("invalid", `cannot read ${path}: ${WORDS[code] ?? errorText(cause)}`, { cause });
  }
}

/** True if every user of this machine can read or replace the file: a key or password in it is no secret. */
export function isOpenToAll(path: string): boolean {
  return (statSync(path).mode & 0o007) !== 0;
}
