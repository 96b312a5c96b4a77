import { lstat } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { DomainError } from "../base/errors.ts";
import { makeFolders } from "./make-folders.ts";

/** Where programs of one person on one machine find each other: running sidecars and locks of sessions. */
export function runtimeFolder(where: { readonly xdgRuntimeDir?: string; readonly uid: number }): string {
  const { xdgRuntimeDir, uid } = where;
  // The XDG specification: a relative path is to be ignored.
  if (xdgRuntimeDir !== undefined && isAbsolute(xdgRuntimeDir)) return join(xdgRuntimeDir, "gt-sidecars");
  return `/tmp/gt-sidecars-${uid}`;
}

/**
 * Makes the folder (mode 0700) when it does not exist.
 * @throws DomainError `denied` when it is a link, no folder, another user's, or open to others: then nothing in it can
 * be trusted, since anyone may make a folder of that name in /tmp.
 */
export async function openPrivateFolder(path: string, uid: number): Promise<void> {
  makeFolders(path);
  await checkPrivateFolder(path, uid);
}

/** True when the folder exists. @throws DomainError `denied` as `openPrivateFolder`. */
export async function checkPrivateFolder(path: string, uid: number): Promise<boolean> {
  const found = await lstat(path).catch((err: NodeJS.ErrnoException) => {
    if (err.code === "ENOENT" || err.code === "ENOTDIR") return undefined;
    throw err;
  });
  if (found === undefined) return false;
  if (!found.isDirectory()) throw refused(path, "it is a link or a file, not a folder");
  if (found.uid !== uid) throw refused(path, `it belongs to user ${found.uid}`);
  if ((found.mode & 0o077) !== 0) throw refused(path, `others may use it (mode ${(found.mode & 0o777).toString(8)})`);
  return true;
}

function refused(path: string, reason: string): DomainError {
  return new DomainError("denied", `cannot trust the folder ${path}: ${reason}`, {
    fields: { hint: `remove it, or make it private: chmod 700 ${path}` },
  });
}
