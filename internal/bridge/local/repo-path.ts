import { closeSync } from "node:fs";
import { DomainError } from "../../base/errors.ts";
import { HAS_PROC, OddFileError } from "../../files/open-below.ts";
import { plainParts, RootedWalk } from "../../files/rooted-walk.ts";

/** A checked folder, held open by a descriptor until it is disposed of. */
export interface CheckedFolder extends Disposable {
  /** The path as the caller gave it. */
  readonly path: string;
  /** Leads to this very folder from any process of this user, even if its name has been taken over since. */
  readonly cwd: string;
}

/**
 * Opens the folder at `path` if it is one of `allowed`, or below one. An allowed path is absolute; a part `*` in it
 * matches any one part. Parts are compared byte by byte, without normalisation. The prefix up to the first `*`, which
 * the administrator chose, may contain links; no later part may be a link.
 *
 * @throws DomainError `denied` for a path that is not allowed or leads through a link, `invalid` for one that is not
 * absolute or not a folder
 */
export function openRepo(path: string, allowed: readonly string[]): CheckedFolder {
  if (!path.startsWith("/")) throw new DomainError("invalid", "repo_path must be absolute");
  const parts = plainParts(path);
  if (parts === undefined) throw notAllowed();
  const roots = allowed.map(rootOf).filter((root) => isBelow(parts, root));
  if (roots.length === 0) throw notAllowed();
  // If several paths allow the folder, trust the longest prefix that the administrator chose.
  const trusted = Math.max(...roots.map(({ fixed }) => fixed));
  const fd = openAt(parts, trusted);
  const cwd = HAS_PROC ? `/proc/${process.pid}/fd/${fd}` : path;
  return { path, cwd, [Symbol.dispose]: () => closeSync(fd) };
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

/** Follows no link after the first `trusted` parts, even if a part becomes a link meanwhile. */
function openAt(parts: readonly string[], trusted: number): number {
  try {
    using walk = new RootedWalk(`/${parts.slice(0, trusted).join("/")}`);
    return walk.openFolder(parts.slice(trusted));
  } catch (err) {
    throw refusalOf(err);
  }
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
