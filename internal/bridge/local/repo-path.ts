import { closeSync, constants, fstatSync, openSync, realpathSync } from "node:fs";
import { DomainError } from "../../base/errors.ts";
import { HAS_PROC, namePlace, OddFileError, placeOf } from "../../files/open-below.ts";

/** A folder that was checked, held by a descriptor until it is disposed of. */
export interface CheckedFolder extends Disposable {
  /** As the caller named it. */
  readonly path: string;
  /** Leads to this very folder from any process of this user, whatever has taken its name since. */
  readonly cwd: string;
}

const MAX_PART_BYTES = 255;

/**
 * Opens the folder at `path` if it is one of `allowed`, or below one. An allowed path is absolute, and `*` in it stands
 * for any one part. Parts are compared as they are, byte by byte; nothing is normalised. What leads to an allowed path,
 * up to its first `*`, may be a link that the administrator has made; no part from there on is.
 *
 * @throws DomainError `denied` for a path that is not allowed or goes over a link, `invalid` for one that is not
 * absolute, or below which there is no such folder
 */
export function openRepo(path: string, allowed: readonly string[]): CheckedFolder {
  if (!path.startsWith("/")) throw new DomainError("invalid", "repo_path must be absolute");
  const parts = partsOf(path);
  const roots = allowed.map(rootOf).filter((root) => isBelow(parts, root));
  if (roots.length === 0) throw notAllowed();
  // Where several allow it, the longest part that an administrator has named is trusted.
  const trusted = Math.max(...roots.map(({ fixed }) => fixed));
  const fd = openAt(parts, trusted);
  const cwd = HAS_PROC ? `/proc/${process.pid}/fd/${fd}` : path;
  return { path, cwd, [Symbol.dispose]: () => closeSync(fd) };
}

/** @throws DomainError `denied`: whatever is not a plain name could lead elsewhere */
function partsOf(path: string): readonly string[] {
  const parts = path
    .replace(/(?<=.)\/$/, "")
    .split("/")
    .slice(1);
  if (parts.every(isPart)) return parts;
  throw notAllowed();
}

function isPart(part: string): boolean {
  const isName = part !== "" && part !== "." && part !== ".." && part.isWellFormed() && !/\p{Cc}/u.test(part);
  return isName && Buffer.byteLength(part) <= MAX_PART_BYTES;
}

interface Root {
  readonly parts: readonly string[];
  /** Parts before the first `*`. */
  readonly fixed: number;
}

function rootOf(allowed: string): Root {
  const parts = allowed.replace(/\/$/, "").split("/").slice(1);
  const star = parts.indexOf("*");
  return { parts, fixed: star === -1 ? parts.length : star };
}

function isBelow(parts: readonly string[], root: Root): boolean {
  return root.parts.length <= parts.length && root.parts.every((part, i) => part === "*" || part === parts[i]);
}

/** Walks by descriptors from the first `trusted` parts on: a part that becomes a link meanwhile is not followed. */
function openAt(parts: readonly string[], trusted: number): number {
  const start = `/${parts.slice(0, trusted).join("/")}`;
  const rest = parts.slice(trusted);
  try {
    if (!HAS_PROC) return openByPath(start, rest);
    let fd = openSync(start, constants.O_RDONLY | constants.O_DIRECTORY);
    for (const part of rest) fd = below(fd, part);
    return fd;
  } catch (err) {
    throw refusalOf(err);
  }
}

function below(fd: number, part: string): number {
  try {
    return namePlace(placeOf(fd, part), "folder");
  } finally {
    closeSync(fd);
  }
}

/** Without /proc the path is resolved at once, and refused if it contains a link. */
function openByPath(start: string, rest: readonly string[]): number {
  const path = [realpathSync(start), ...rest].join("/");
  if (realpathSync(path) !== path) throw notAllowed();
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  if (fstatSync(fd).isDirectory()) return fd;
  closeSync(fd);
  throw noFolder();
}

function refusalOf(err: unknown): unknown {
  if (err instanceof OddFileError) return err.oddity === "link" ? notAllowed(err) : noFolder(err);
  switch ((err as NodeJS.ErrnoException).code) {
    case "ENOENT":
    case "ENOTDIR":
    case "ENAMETOOLONG":
      return noFolder(err);
    case "EACCES":
    case "EPERM":
    case "ELOOP":
      return notAllowed(err);
    default:
      return err;
  }
}

function notAllowed(cause?: unknown): DomainError {
  return new DomainError("denied", "repo_path is not under an allowed path, or leads through a link", { cause });
}

function noFolder(cause?: unknown): DomainError {
  return new DomainError("invalid", "repo_path is not a folder on this host", { cause });
}
