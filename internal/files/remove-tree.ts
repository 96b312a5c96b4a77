import { chmodSync, lstatSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../base/errors.ts";

/**
 * Removes an entry that an agent of this user may have made, with everything below it: folders without permissions get
 * them back first. No link is followed, and a missing entry is not an error.
 * @param maxRetries as for `rmSync`, which blocks while it retries: for a tree into which programs that are ending
 * still write
 * @throws the system's error, such as EACCES for what belongs to another user
 */
export function removeTree(path: string, maxRetries = 0): void {
  const options = { recursive: true, force: true, maxRetries };
  try {
    rmSync(path, options);
  } catch (err) {
    if (codeOf(err) !== "EACCES") throw err;
    unlockFolders(path);
    rmSync(path, options);
  }
}

function unlockFolders(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return;
  chmodSync(path, 0o700);
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) unlockFolders(join(path, entry.name));
  }
}
