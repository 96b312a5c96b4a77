import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DomainError } from "../base/errors.ts";
import { systemReason } from "./system-reason.ts";

/**
 * Makes a folder (mode 0700) among the temporary files; its name begins with `prefix`.
 * @throws DomainError `unavailable` where that folder is missing, full or closed to this user
 */
export async function makeTemporaryFolder(prefix: string): Promise<string> {
  try {
    return await mkdtemp(join(tmpdir(), prefix));
  } catch (cause) {
    const reason = systemReason(cause, "folder");
    throw new DomainError("unavailable", `cannot make a folder in ${tmpdir()}: ${reason}`, {
      fields: { hint: "set TMPDIR to a folder of your own with room in it" },
      cause,
    });
  }
}
