import { lstatSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "../../internal/base/errors.ts";

/**
 * Checks that nothing stands where files are to be made.
 * @throws DomainError `already-exists`; `force`: the command has that flag
 */
export function checkAbsent(folder: string, names: readonly string[], force: "has-force" | "no-force"): void {
  for (const name of names) {
    const path = join(folder, name);
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) continue;
    const hint =
      force === "has-force" ? "--force replaces it" : "it is never replaced: move it away, or choose another name";
    throw new DomainError("already-exists", `${path} is there already`, { fields: { hint } });
  }
}
