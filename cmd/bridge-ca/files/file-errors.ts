import { lstatSync } from "node:fs";
import { DomainError } from "../../../internal/base/errors.ts";
import { systemReason } from "../../../internal/files/system-reason.ts";

/** What the system said, as an error for a person. Bugs and domain errors stay what they are. */
export function fileError(action: string, path: string, err: unknown): unknown {
  const code = err instanceof Error ? (err as NodeJS.ErrnoException).code : undefined;
  if (err instanceof DomainError || code === undefined) return err;
  const kind = code === "ENOENT" ? "not-found" : "exhausted";
  return new DomainError(kind, `cannot ${action} ${path}: ${systemReason(err, "file or folder")}`, { cause: err });
}

/**
 * Whether anything is there, be it a link to nothing.
 * @throws DomainError when the system does not tell
 */
export function pathExists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (err) {
    throw fileError("look at", path, err);
  }
}
