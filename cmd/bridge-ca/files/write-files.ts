import { basename, dirname, join } from "node:path";
import type { Clock } from "../../../internal/base/clock.ts";
import type { FileOps } from "../../../internal/files/file-ops.ts";
import { type NewFile, type Placing, recoverFileSets, writeFileSet } from "../../../internal/files/file-set.ts";
import { lockFolders } from "../../../internal/files/folder-lock.ts";
import { makeFolders } from "../../../internal/files/make-folders.ts";
import { fileError } from "./file-errors.ts";

const LOCK_WAIT_MS = 30_000;

/** The part of a command's context that writing files needs. */
export interface FileContext {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly ops: FileOps;
}

/** The place of one file: its folder and its name there. */
export interface FileLocation {
  readonly folder: string;
  readonly name: string;
}

export function locationOf(path: string): FileLocation {
  return { folder: dirname(path), name: basename(path) };
}

/**
 * Makes missing folders (mode 0700) and locks all of them for this process.
 * @throws DomainError `unavailable` if another process locks a folder for 30 s; `exhausted` if a folder cannot be made
 */
export async function takeFolders(context: FileContext, folders: readonly string[]): Promise<AsyncDisposable> {
  for (const folder of folders) {
    try {
      makeFolders(folder);
    } catch (err) {
      throw fileError("make the folder", folder, err);
    }
  }
  return await lockFolders(context.clock, folders, { waitMs: LOCK_WAIT_MS, signal: context.signal });
}

/** Writes files that belong together, as `writeFileSet` does. The folder must be locked. */
export function writeFiles(
  { ops }: Pick<FileContext, "ops">,
  folder: string,
  files: readonly NewFile[],
  placing: Placing,
): void {
  try {
    writeFileSet(ops, folder, files, placing);
  } catch (err) {
    throw fileError("write", join(folder, files[0]?.name ?? ""), err);
  }
}

/** Completes or undoes the writes of a run that was killed in this folder. The folder must be locked. */
export function recoverFolder({ ops }: Pick<FileContext, "ops">, folder: string): void {
  try {
    recoverFileSets(ops, folder);
  } catch (err) {
    throw fileError("write to", folder, err);
  }
}

export function publicFile(name: string, content: string): NewFile {
  return { name, content, mode: 0o644 };
}

export function privateFile(name: string, content: string): NewFile {
  return { name, content, mode: 0o600 };
}
