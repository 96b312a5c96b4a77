import { dirname } from "node:path";
import { getSystemErrorMessage } from "node:util";
import { DomainError } from "../../base/errors.ts";
import { makeFolders } from "../../files/make-folders.ts";
import { replaceSecret } from "../../files/replace-secret.ts";

/**
 * Replaces a file of the state folder atomically, as `replaceSecret` does, and creates a missing folder.
 * @throws DomainError `unavailable` with the system's reason and without the path, which callers must not learn
 */
export function replaceStateFile(path: string, text: string): void {
  try {
    makeFolders(dirname(path));
    replaceSecret(path, text);
  } catch (err) {
    const { errno } = err as NodeJS.ErrnoException;
    if (errno === undefined) throw err;
    const reason = getSystemErrorMessage(errno);
    throw new DomainError("unavailable", `the state folder cannot be written: ${reason}`, { cause: err });
  }
}
