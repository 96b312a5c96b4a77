import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { DomainError } from "../base/errors.ts";
import type { FileOps } from "./file-ops.ts";
import { refuseLink } from "./refuse-link.ts";

/** One file of a set. `mode` holds its permission bits, regardless of the umask. */
export interface NewFile {
  readonly name: string;
  readonly content: string;
  readonly mode: number;
  /** Default: this process's user and group. Only root can give a file away. */
  readonly owner?: { readonly uid: number; readonly gid: number };
}

/** `create` adds only new files; `replace` also replaces existing ones. */
export type Placing = "create" | "replace";

const PREFIX = ".bridge-ca-";
/** `.bridge-ca-<set>-<c|r>-<number>-<count>-<name>` */
const PART = /^\.bridge-ca-([0-9a-f]{16})-([cr])-(\d+)-(\d+)-(.+)$/;

interface Part {
  readonly set: string;
  readonly placing: Placing;
  /** From 1. */
  readonly number: number;
  readonly count: number;
  readonly name: string;
  readonly path: string;
}

/**
 * Writes files of one folder that belong together; the folder must be locked. Each file is complete before it appears
 * under its name, and the files appear in the given order. If a process is killed between two files, a part of the set
 * remains. The next call runs `recoverFileSets` first, which removes a set that was being created and completes one
 * that was being replaced.
 * @throws DomainError `already-exists` if `placing` is `create` and one of the files exists; `invalid` if a file to be
 * replaced is a link. Either way, none is written
 */
export function writeFileSet(ops: FileOps, folder: string, files: readonly NewFile[], placing: Placing): void {
  recoverFileSets(ops, folder);
  if (placing === "replace") for (const { name } of files) refuseLink(join(folder, name));
  const set = randomBytes(8).toString("hex");
  const parts = files.map((file, i): Part => {
    const name = `${PREFIX}${set}-${placing[0]}-${i + 1}-${files.length}-${file.name}`;
    return { set, placing, number: i + 1, count: files.length, name: file.name, path: join(folder, name) };
  });
  try {
    for (const [i, part] of parts.entries()) writePart(ops, part, files[i] as NewFile);
    syncFolder(ops, folder);
    if (placing === "replace") replaceAll(ops, folder, parts);
    else createAll(ops, folder, parts);
    syncFolder(ops, folder);
  } catch (err) {
    undo(ops, folder);
    throw err;
  }
}

/** Completes or undoes the work of a process that was killed in this folder. The folder must be locked. */
export function recoverFileSets(ops: FileOps, folder: string): void {
  const parts = ops.list(folder).flatMap((file) => partOf(folder, file) ?? []);
  for (const [, own] of Map.groupBy(parts, ({ set }) => set)) {
    const inOrder = own.toSorted((a, b) => a.number - b.number);
    if (inOrder[0]?.placing === "replace") recoverReplaced(ops, folder, inOrder);
    else recoverCreated(ops, folder, inOrder);
  }
}

function writePart(ops: FileOps, part: Part, { content, mode, owner }: NewFile): void {
  const fd = ops.createFile(part.path, mode);
  try {
    if (owner) ops.setOwner(fd, owner.uid, owner.gid);
    ops.setMode(fd, mode);
    const bytes = Buffer.from(content);
    for (let at = 0; at < bytes.length; ) at += ops.write(fd, bytes.subarray(at));
    ops.sync(fd);
  } finally {
    ops.close(fd);
  }
}

/**
 * Links the files in order, so a set whose last file is linked is complete. Then removes the parts in order: the last
 * part, which proves that the set is complete, goes last.
 */
function createAll(ops: FileOps, folder: string, parts: readonly Part[]): void {
  for (const part of parts) {
    try {
      ops.link(part.path, join(folder, part.name));
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
      throw new DomainError("already-exists", `${join(folder, part.name)} already exists`, { cause });
    }
  }
  for (const part of parts) ops.remove(part.path);
}

function replaceAll(ops: FileOps, folder: string, parts: readonly Part[]): void {
  for (const part of parts) ops.rename(part.path, join(folder, part.name));
}

function recoverCreated(ops: FileOps, folder: string, parts: readonly Part[]): void {
  const last = parts.at(-1);
  const isComplete = last?.number === last?.count && last !== undefined && isLinked(ops, folder, last);
  if (!isComplete) {
    for (const part of parts) if (isLinked(ops, folder, part)) ops.remove(join(folder, part.name));
  }
  for (const part of parts) ops.remove(part.path);
}

/** All parts are written before the first is moved: if the first is gone, the others are complete. */
function recoverReplaced(ops: FileOps, folder: string, parts: readonly Part[]): void {
  const isMoving = parts[0]?.number !== 1;
  for (const part of parts) {
    if (isMoving) ops.rename(part.path, join(folder, part.name));
    else ops.remove(part.path);
  }
}

function isLinked(ops: FileOps, folder: string, part: Part): boolean {
  const inode = ops.inodeOf(part.path);
  return inode !== undefined && inode === ops.inodeOf(join(folder, part.name));
}

/**
 * Undoes or completes a set after an error, as far as the system allows. Drops its own errors: the caller reports the
 * first one.
 */
function undo(ops: FileOps, folder: string): void {
  try {
    recoverFileSets(ops, folder);
  } catch {
    // The next `recoverFileSets` in this folder tries again.
  }
}

function partOf(folder: string, file: string): Part | undefined {
  const [, set = "", letter, number, count, name = ""] = PART.exec(file) ?? [];
  if (set === "") return undefined;
  const placing = letter === "r" ? "replace" : "create";
  return { set, placing, number: Number(number), count: Number(count), name, path: join(folder, file) };
}

/** Waits until the folder's entries are on the disk. */
function syncFolder(ops: FileOps, folder: string): void {
  const fd = ops.openFolder(folder);
  try {
    ops.sync(fd);
  } finally {
    ops.close(fd);
  }
}
