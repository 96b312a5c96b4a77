import { lstatSync, renameSync, rmSync } from "node:fs";

/** The path to which `setAside` moves the file at `path`. */
const asidePath = (path: string): string => `${path}.damaged`;

/** Moves the file at `path`, if there is one, to `asidePath(path)`, replacing the file that was set aside before. */
export function setAside(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
  rmSync(asidePath(path), { recursive: true, force: true });
  renameSync(path, asidePath(path));
}
