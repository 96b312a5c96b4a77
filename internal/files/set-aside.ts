import { lstatSync, renameSync, rmSync } from "node:fs";

/** Where `setAside` puts what was at `path`. */
const asidePath = (path: string): string => `${path}.damaged`;

/** Moves what is at `path`, if anything does, to `asidePath(path)` in place of what was set aside before. */
export function setAside(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
  rmSync(asidePath(path), { recursive: true, force: true });
  renameSync(path, asidePath(path));
}
