import { lstatSync } from "node:fs";
import { DomainError } from "../../../internal/base/errors.ts";
import { systemReason } from "../../../internal/files/system-reason.ts";

/**
 * A system error as a DomainError that names the file and the action. Domain errors and bugs are returned unchanged.
 */
export function fileError(action: string, path: string, err: unknown): unknown {
  const code = err instanceof Error ? (err as NodeJS.ErrnoException).code : undefined;
  if (err instanceof DomainError || code === undefined) return err;
  const kind = code === "ENOENT" ? "not-found" : "exhausted";
  return new DomainError(kind, `cannot ${action} ${path}: ${systemReason(err, "file or folder")}`, { cause: err });
}

/**
 * Whether the path exists, even as a dangling link.
 * @throws DomainError if the system cannot say
 */
export function pathExists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (err) {
    throw fileError("look at", path, err);
  }
}
