import { join } from "node:path";
import { DomainError } from "../../../internal/base/errors.ts";
import { pathExists } from "./file-errors.ts";
import { type FileContext, recoverFolder, takeFolders } from "./write-files.ts";

/**
 * Checks that none of the files to be made exists, after removing the remains of an interrupted run.
 * @param force whether the command has --force, for the error's hint
 * @throws DomainError `already-exists`
 */
export async function checkAbsent(
  context: FileContext,
  folder: string,
  names: readonly string[],
  force: "has-force" | "no-force",
): Promise<void> {
  if (!pathExists(folder)) return;
  await using _taken = await takeFolders(context, [folder]);
  recoverFolder(context, folder);
  for (const name of names) {
    const path = join(folder, name);
    if (!pathExists(path)) continue;
    const hint =
      force === "has-force" ? "--force replaces it" : "it is never replaced: move it away, or choose another name";
    throw new DomainError("already-exists", `${path} already exists`, { fields: { hint } });
  }
}
