import { createHash } from "node:crypto";
import { join } from "node:path";
import { openSharedFolder } from "../../../internal/files/shared-folder.ts";
import { closeInherited } from "../../../internal/process/users/inherited-descriptors.ts";
import { type UnixUser, unixUser } from "../../../internal/process/users/unix-user.ts";
import { type UserOf, usersOf } from "../../../internal/process/users/users-of-projects.ts";
import type { BridgeConfig } from "../file/bridge-config.ts";

/** Projects whose agents run as users of their own. */
export interface ApartProjects {
  readonly userOf: UserOf;
  /** The user that runs programs to ask for their versions: one of the projects' users, never the bridge's. */
  readonly asking: UnixUser | undefined;
  /** The folder for these users' session folders. */
  readonly places: string;
}

/**
 * Prepares to start agents as other users: from then on, child processes inherit none of the descriptors that this
 * process has inherited. Undefined if the configuration names no such users.
 * @throws DomainError `invalid` for a user that does not exist; as `openSharedFolder`
 */
export function keepProjectsApart(
  { runAs, projectsDir }: BridgeConfig,
  stateFolder: string,
  env: Readonly<Record<string, string | undefined>>,
): ApartProjects | undefined {
  if (runAs.size === 0) return undefined;
  const users = new Map([...runAs].map(([project, name]) => [project, unixUser(name)]));
  closeInherited(env["NODE_CHANNEL_FD"]);
  const places = join(projectsDir, createHash("sha256").update(stateFolder).digest("hex").slice(0, 12));
  openSharedFolder(places);
  const [asking] = users.values();
  return { userOf: usersOf(users), asking, places };
}

/** The log line at the start that says which users agents run as. */
export function agentUsersLogEntry(apart: ApartProjects | undefined): [object, string] {
  const uid = process.getuid?.();
  if (apart !== undefined) return [{ uid }, "agents run as the users of their projects"];
  return [{ uid }, ONE_USER];
}

/** The consequence if no project has a user of its own. */
export const ONE_USER =
  "all projects' agents run as the bridge's user: each can read and drive the sessions of the others, and read the bridge's keys";
