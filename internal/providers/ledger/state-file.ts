import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { getSystemErrorMessage } from "node:util";
import { DomainError } from "../../base/errors.ts";

/**
 * Replaces a file of the state folder: afterwards it holds the text or, whenever the process ends, what it held before.
 * Only its owner may read it; a missing folder is made.
 * @throws DomainError `unavailable` with the system's reason, for callers who are not to know the path
 */
export function replaceStateFile(path: string, text: string): void {
  const next = `${path}.new`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(next, text, { mode: 0o600 });
    renameSync(next, path);
  } catch (err) {
    discard(next);
    const { errno } = err as NodeJS.ErrnoException;
    if (errno === undefined) throw err;
    const reason = getSystemErrorMessage(errno);
    throw new DomainError("unavailable", `the state folder cannot be written: ${reason}`, { cause: err });
  }
}

/** The first failure is what counts. */
function discard(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // what cannot be reached cannot be in the way
  }
}
