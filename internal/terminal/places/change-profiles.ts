import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { DomainError, errorText } from "../../base/errors.ts";
import { lockFolders } from "../../files/folder-lock.ts";
import { makeFolders } from "../../files/make-folders.ts";
import { type Profiles, profilePath, readProfiles, writeProfiles } from "./profile-file.ts";

const LOCK_WAIT_MS = 30_000;

export interface ChangeDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Reads the file of profiles, changes it and writes it, as one step among the processes of this machine: of two changes
 * at once, neither is lost. If `change` throws, the file stays as it is.
 * @throws DomainError `unavailable` when another process holds the folder for 30 s; as `readProfiles`, `writeProfiles`
 */
export async function changeProfiles(
  { env, clock, signal }: ChangeDeps,
  change: (before: Profiles) => Profiles,
): Promise<void> {
  await using _held = await lockFolders(clock, [folderOf(env)], { waitMs: LOCK_WAIT_MS, signal });
  writeProfiles(env, change(readProfiles(env)));
}

/** The folder of the file itself, if the named file is a link to it. */
function folderOf(env: ChangeDeps["env"]): string {
  const named = profilePath(env);
  if (named === undefined) throw new DomainError("invalid", "no location for the file: HOME is not set");
  try {
    makeFolders(dirname(named));
  } catch (err) {
    throw new DomainError("invalid", `cannot write ${named}: ${errorText(err)}`, { cause: err });
  }
  try {
    return dirname(realpathSync(named));
  } catch {
    return dirname(named); // it does not exist yet
  }
}
