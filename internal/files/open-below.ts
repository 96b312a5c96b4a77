import { closeSync, constants, fstatSync, openSync, type Stats } from "node:fs";
import { DomainError } from "../base/errors.ts";

/**
 * A descriptor with this flag only names a place: opening it waits for no FIFO and starts no device. The number is the
 * same on all our platforms.
 */
const O_PATH = 0x200000;

/**
 * Without /proc a file is opened by its whole path: its last part is still checked, but the folders before it may
 * change meanwhile.
 */
export const HAS_PROC = process.platform === "linux";

export type FileKind = "folder" | "file" | "FIFO" | "socket";

/** The reason why an entry of a folder is not the one that the folder's owner put there. */
export type Oddity = "link" | "kind" | "owner";

/** A link, another kind of file or another user's file is in the place of one of ours. Nothing was read from it. */
export class OddFileError extends DomainError {
  readonly oddity: Oddity;
  /** True once `onOdd` has been called for it. */
  isNoted = false;

  constructor(path: string, oddity: Oddity) {
    super("precondition", `cannot use ${path}: ${WORDS[oddity]}`);
    this.oddity = oddity;
  }
}

const WORDS: Readonly<Record<Oddity, string>> = {
  link: "it is a link, or has a second name",
  kind: "it is another kind of file",
  owner: "it belongs to another user",
};

/** Whether a found entry has the kind; a link has none of them. */
export const IS_OF_KIND: Readonly<Record<FileKind, (found: Stats) => boolean>> = {
  folder: (found) => found.isDirectory(),
  file: (found) => found.isFile(),
  FIFO: (found) => found.isFIFO(),
  socket: (found) => found.isSocket(),
};

/** Checks one part of a path. @throws DomainError `invalid` for anything that could lead out of its folder */
export function checkPart(name: string): string {
  if (name === "" || name === "." || name === ".." || /[/\0]/.test(name))
    throw new DomainError("invalid", `not a file's name: ${JSON.stringify(name.slice(0, 40))}`);
  return name;
}

/** The path of the file that a descriptor names. */
export function descriptorPath(fd: number, name?: string): string {
  return name === undefined ? `/proc/self/fd/${fd}` : `/proc/self/fd/${fd}/${name}`;
}

/**
 * A descriptor that names the file at `path`; a link at the end of the path is not followed. Linux only.
 * @throws OddFileError for another kind; else as `openSync`
 */
export function namePlace(path: string, kind: FileKind): number {
  const fd = openSync(path, O_PATH | constants.O_NOFOLLOW);
  const found = fstatSync(fd);
  if (IS_OF_KIND[kind](found)) return fd;
  closeSync(fd);
  throw new OddFileError(path, found.isSymbolicLink() ? "link" : "kind");
}

/** `namePlace` of a folder whose path contains no link. `path` is absolute. */
export function nameWithoutLinks(path: string): number {
  let fd = namePlace("/", "folder");
  for (const part of path.split("/").filter((name) => name !== "")) {
    try {
      const next = namePlace(descriptorPath(fd, checkPart(part)), "folder");
      closeSync(fd);
      fd = next;
    } catch (err) {
      closeSync(fd);
      throw err instanceof OddFileError ? new OddFileError(`${path} (at ${part})`, err.oddity) : err;
    }
  }
  return fd;
}

/**
 * Opens the file or FIFO at `path` with `flags` of open(2), without waiting. Creates nothing. `isOwner` is true for an
 * owner whose file may be opened.
 * @throws OddFileError for another kind, a link, a file with a second name, another owner; else as `openSync`
 */
export function openChecked(
  path: string,
  kind: "file" | "FIFO",
  flags: number,
  isOwner: (uid: number) => boolean,
): number {
  const named = HAS_PROC ? namePlace(path, kind) : undefined;
  try {
    const real = named === undefined ? path : descriptorPath(named);
    const follow = named === undefined ? constants.O_NOFOLLOW : 0; // a path through a descriptor names the file itself
    const fd = openSync(real, flags | constants.O_NONBLOCK | follow);
    const oddity = oddityOf(fstatSync(fd), kind, isOwner);
    if (oddity === undefined) return fd;
    closeSync(fd);
    throw new OddFileError(path, oddity);
  } finally {
    if (named !== undefined) closeSync(named);
  }
}

function oddityOf(found: Stats, kind: FileKind, isOwner: (uid: number) => boolean): Oddity | undefined {
  if (!IS_OF_KIND[kind](found)) return "kind";
  if (found.nlink > 1) return "link";
  return isOwner(found.uid) ? undefined : "owner";
}
