import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { getSystemErrorMessage } from "node:util";
import { DomainError } from "../../base/errors.ts";

/**
 * Replaces a file of the state folder atomically: if the process ends at any moment, the file has its old content or
 * the new text. Only its owner may read it; a missing folder is created.
 * @throws DomainError `unavailable` with the system's reason and without the path, which callers must not learn
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

/** Ignores a failure: the first one is reported. */
function discard(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // what cannot be reached cannot be in the way
  }
}
