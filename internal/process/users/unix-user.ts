import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { DomainError } from "../../base/errors.ts";

/** A user of this machine that programs can be run as. */
export interface UnixUser {
  readonly name: string;
  readonly uid: number;
  /** The primary group, the only one that the user's programs are in. */
  readonly gid: number;
  readonly home: string;
  readonly shell: string;
}

/**
 * Looks a user up by name or number, as the system does (NSS), or in `/etc/passwd` if there is no `getent`.
 * @throws DomainError `invalid` when there is none
 */
export function unixUser(name: string): UnixUser {
  const asked = spawnSync("getent", ["passwd", "--", name], { encoding: "utf8", timeout: 10_000 });
  const lines = asked.error === undefined ? asked.stdout : readFileSync("/etc/passwd", "utf8");
  const found = lines
    .split("\n")
    .map(userIn)
    .find((user) => user !== undefined && (user.name === name || String(user.uid) === name));
  if (found === undefined) throw new DomainError("invalid", `there is no user ${JSON.stringify(name)} on this machine`);
  return found;
}

/** One line of passwd(5). */
function userIn(line: string): UnixUser | undefined {
  const [name, , uid = "", gid = "", , home, shell] = line.split(":");
  if (name === undefined || !/^\d+$/.test(uid) || !/^\d+$/.test(gid)) return undefined;
  return { name, uid: Number(uid), gid: Number(gid), home: home || "/", shell: shell || "/bin/sh" };
}

/** The ids in the form that `spawn` takes. */
export function idsOf(user: UnixUser | undefined): { readonly uid?: number; readonly gid?: number } {
  return user === undefined ? {} : { uid: user.uid, gid: user.gid };
}
