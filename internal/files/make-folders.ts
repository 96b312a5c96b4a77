import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DomainError } from "../base/errors.ts";
import { isMissing } from "./named-file.ts";
import { systemReason } from "./system-reason.ts";

/**
 * Creates a folder and missing folders above it, for their owner alone; existing ones stay as they are. `mkdir` with
 * `recursive` does the same, but never returns below a folder where nothing can be made, such as /proc.
 * @throws as `mkdirSync`
 */
export function makeFolders(path: string): void {
  try {
    makeFolder(path);
  } catch (err) {
    const above = dirname(path);
    if (!isMissing(err) || above === path) throw err;
    makeFolders(above);
    makeFolder(path);
  }
}

/** `makeFolders` below the state folder that `--state-dir` names. @throws DomainError `denied` */
export function makeStateFolders(path: string): void {
  try {
    makeFolders(path);
  } catch (cause) {
    throw unusableStateDir(`cannot make the folder ${path}`, cause);
  }
}

/** `failure: REASON`, with the flag for another state folder as a hint. `what`: see `systemReason`. */
export function unusableStateDir(failure: string, cause: unknown, what = "folder"): DomainError {
  return new DomainError("denied", `${failure}: ${systemReason(cause, what)}`, {
    fields: { hint: "give another --state-dir" },
    cause,
  });
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (err) {
    const isThere = (err as NodeJS.ErrnoException).code === "EEXIST" && statSync(path).isDirectory();
    if (!isThere) throw err;
  }
}
