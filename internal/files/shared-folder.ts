import { chmodSync, lstatSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DomainError } from "../base/errors.ts";
import { systemReason } from "./system-reason.ts";

const PASSABLE = 0o711;

/**
 * Creates a folder that every user may pass through and only this user may change, for entries that belong to several
 * users. Missing folders above it are created in the same way.
 * @throws DomainError `denied` when others may change it, `unavailable` when it cannot be created or be reached by
 * others
 */
export function openSharedFolder(path: string): void {
  try {
    makePassable(path);
  } catch (cause) {
    throw new DomainError("unavailable", `cannot make the folder ${path}: ${systemReason(cause, "folder")}`, { cause });
  }
  const { uid, mode } = lstatSync(path);
  if (uid !== (process.getuid?.() ?? 0) || (mode & 0o022) !== 0) {
    throw new DomainError("denied", `cannot trust the folder ${path}: others may change it`);
  }
  if ((mode & 0o111) !== 0o111) chmodSync(path, PASSABLE);
  for (let above = dirname(path); above !== "/"; above = dirname(above)) {
    if ((statSync(above).mode & 0o001) !== 0) continue;
    throw new DomainError("unavailable", `other users cannot reach ${path}: ${above} may not be entered by all`);
  }
}

function makePassable(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) return;
  if (dirname(path) !== path && !statSync(dirname(path), { throwIfNoEntry: false })) makePassable(dirname(path));
  mkdirSync(path);
  chmodSync(path, PASSABLE); // whatever the umask
}
