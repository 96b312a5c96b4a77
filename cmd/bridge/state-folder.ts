import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import type { Clock } from "../../internal/base/clock.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { lockFolders } from "../../internal/files/folder-lock.ts";
import { openPrivateFolder } from "../../internal/files/private-folder.ts";

export interface StatePlace {
  /** From the flag or the environment; relative to the current folder. */
  readonly given: string | undefined;
  /** From the configuration; absolute. */
  readonly configured: string | undefined;
  readonly configPath: string;
  readonly stateHome: string | undefined;
  readonly home: string | undefined;
}

const LOCK_WAIT_MS = 2000;

/**
 * The folder for the state that outlives the daemon. By default each configuration file has its own, so that two
 * bridges of one user do not collide.
 */
export function stateFolderOf({ given, configured, configPath, stateHome, home }: StatePlace): string {
  return given !== undefined ? resolve(given) : (configured ?? usualFolder(configPath, stateHome, home));
}

function usualFolder(configPath: string, stateHome: string | undefined, home: string | undefined): string {
  const base = stateHome !== undefined && isAbsolute(stateHome) ? stateHome : join(home || homedir(), ".local/state");
  return join(base, "gastown-bridge", hash(realpathSync(configPath)));
}

function hash(path: string): string {
  return createHash("sha256").update(path).digest("hex").slice(0, 12);
}

/**
 * Makes the folder, mode 0700, and locks it for this process until it is disposed of.
 * @throws DomainError `unavailable` when another bridge has it; else as `openPrivateFolder`
 */
export async function takeStateFolder(clock: Clock, folder: string, signal: AbortSignal): Promise<AsyncDisposable> {
  await openPrivateFolder(folder, process.getuid?.() ?? 0, "choose another with --state-dir or server.state_dir");
  try {
    return await lockFolders(clock, [folder], { waitMs: LOCK_WAIT_MS, signal });
  } catch (cause) {
    if (!(cause instanceof DomainError) || cause.kind !== "unavailable") throw cause;
    throw new DomainError("unavailable", `another bridge is using the state folder ${folder}`, { cause });
  }
}
