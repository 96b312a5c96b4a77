import { lstatSync, renameSync } from "node:fs";
import { removeTree } from "../../files/remove-tree.ts";

/** The path to which `setAside` moves the file at `path`. */
const asidePath = (path: string): string => `${path}.damaged`;

/** Moves the file at `path`, if there is one, to `asidePath(path)`, replacing the file that was set aside before. */
export function setAside(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
  removeTree(asidePath(path));
  renameSync(path, asidePath(path));
}
