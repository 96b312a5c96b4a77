import { accessSync, constants, existsSync, lstatSync, statSync } from "node:fs";
import { lstat } from "node:fs/promises";
import { userInfo } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { DomainError, errorText } from "../base/errors.ts";
import { makeFolders } from "./make-folders.ts";
import { isMissing } from "./named-file.ts";

export interface RuntimeWhere {
  readonly xdgRuntimeDir?: string | undefined;
  readonly uid: number;
  /** Default: the user's home as the system knows it, whatever HOME says; none for a user without an entry. */
  readonly home?: string;
}

const NAME = "gt-sidecars";
const OTHER_FOLDER = "set XDG_RUNTIME_DIR to a folder of your own";

/**
 * The folder where programs of one person on one machine find each other: running sidecars and locks of sessions.
 * Usually the first of `runtimeFolders`; a later one if others have taken its place.
 */
export function runtimeFolder(where: RuntimeWhere): string {
  const [first = "", ...others] = runtimeFolders(where);
  return [first, ...others].find((folder) => isOwn(folder, where.uid)) ?? first;
}

/**
 * All folders in which a sidecar of this user may have announced itself, this environment's folder first. `su` and
 * `cron` leave no XDG_RUNTIME_DIR, or another user's.
 */
export function runtimeFolders({ xdgRuntimeDir, uid, home = systemHome() }: RuntimeWhere): readonly string[] {
  const usual = `/run/user/${uid}`;
  const own = ownRuntimeDir(xdgRuntimeDir, uid);
  // If a person has set XDG_RUNTIME_DIR to another folder, only that folder counts.
  if (own !== undefined && own !== usual) return [join(own, NAME)];
  const isUsual = own === usual || (existsSync(usual) && isOwn(usual, uid));
  return [
    ...(isUsual ? [join(usual, NAME)] : []),
    `/tmp/${NAME}-${uid}`,
    ...(home === undefined ? [] : [join(home, ".local/state", NAME)]),
  ];
}

function systemHome(): string | undefined {
  try {
    return userInfo().homedir;
  } catch {
    return undefined;
  }
}

/**
 * The folders in which a sidecar announces itself: the one for its environment, and the one for an environment without
 * XDG_RUNTIME_DIR.
 */
export function announcedFolders(where: RuntimeWhere): readonly string[] {
  const { xdgRuntimeDir: _, ...plain } = where;
  return [...new Set([runtimeFolder(where), runtimeFolder(plain)])];
}

/** XDG_RUNTIME_DIR if it is usable: absolute, and this user's or creatable by this user. */
export function ownRuntimeDir(dir: string | undefined, uid: number): string | undefined {
  return dir !== undefined && isAbsolute(dir) && isOwn(dir, uid) ? dir : undefined;
}

/** True for a folder of this user's own, and for a missing one that this user may create. */
function isOwn(path: string, uid: number): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return canMake(path);
  return found.isDirectory() && found.uid === uid && canWrite(path);
}

function canMake(path: string): boolean {
  const above = dirname(path);
  if (above === path) return false;
  try {
    if (statSync(above).isDirectory()) return canWrite(above);
    return false;
  } catch (err) {
    return isMissing(err) && canMake(above);
  }
}

function canWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Creates the folder (mode 0700) if it does not exist. `otherFolder` is the hint that says how to use another one.
 * @throws DomainError `denied` when it is a link, is not a folder, belongs to another user or is open to others: then
 * nothing in it can be trusted, since anyone may make a folder of that name in /tmp.
 */
export async function openPrivateFolder(path: string, uid: number, otherFolder = OTHER_FOLDER): Promise<void> {
  try {
    makeFolders(path);
  } catch (err) {
    throw new DomainError("unavailable", `cannot make the folder ${path}: ${errorText(err)}`, {
      fields: { hint: otherFolder },
      cause: err,
    });
  }
  await checkPrivateFolder(path, uid, otherFolder);
}

/** True when the folder exists. @throws DomainError `denied` as `openPrivateFolder`. */
export async function checkPrivateFolder(path: string, uid: number, otherFolder = OTHER_FOLDER): Promise<boolean> {
  const found = await lstat(path).catch((err: NodeJS.ErrnoException) => {
    if (err.code === "ENOENT" || err.code === "ENOTDIR") return undefined;
    throw err;
  });
  if (found === undefined) return false;
  if (!found.isDirectory()) throw refused(path, "it is a link or a file, not a folder");
  if (found.uid !== uid) throw refused(path, `it belongs to user ${found.uid}`, otherFolder);
  if ((found.mode & 0o077) !== 0) throw refused(path, `others may use it (mode ${(found.mode & 0o777).toString(8)})`);
  return true;
}

function refused(path: string, reason: string, hint = `remove it, or make it private: chmod 700 ${path}`): DomainError {
  return new DomainError("denied", `cannot trust the folder ${path}: ${reason}`, {
    fields: { hint },
  });
}
