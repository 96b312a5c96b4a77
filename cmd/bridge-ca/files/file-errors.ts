import { lstatSync } from "node:fs";
import { DomainError, errorText } from "../../../internal/base/errors.ts";

const WORDS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOSPC: "no space left on the device",
  EDQUOT: "the disk quota is used up",
  ENOENT: "there is no such file or folder",
  ENOTDIR: "a part of the path is not a folder",
  EISDIR: "it is a folder",
  EEXIST: "a file is in the way",
  ENAMETOOLONG: "the name is too long",
  ELOOP: "too many symbolic links",
  EMFILE: "too many open files",
  EIO: "input/output error",
  ENOTEMPTY: "a folder is in the way",
  EBADF: "it is not open",
};

/** What the system said, as an error for a person. Bugs and domain errors stay what they are. */
export function fileError(action: string, path: string, err: unknown): unknown {
  const code = err instanceof Error ? (err as NodeJS.ErrnoException).code : undefined;
  if (err instanceof DomainError || code === undefined) return err;
  const kind = code === "ENOENT" ? "not-found" : "exhausted";
  return new DomainError(kind, `cannot ${action} ${path}: ${WORDS[code] ?? errorText(err)}`, { cause: err });
}

/**
 * Whether anything is there, be it a link to nothing.
 * @throws DomainError when the system does not tell
 */
export function pathExists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (err) {
    throw fileError("look at", path, err);
  }
}
