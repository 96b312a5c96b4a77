import { hostname, userInfo } from "node:os";

/** Who the caller claims to be: the role that upstream gives its agents (GT_ROLE), else user and machine. */
export function senderOf(env: Readonly<Record<string, string | undefined>>): string {
  if (env["GT_ROLE"]) return env["GT_ROLE"];
  return `${env["USER"] || env["LOGNAME"] || userName()}@${hostname()}`;
}

/** Without an entry in the user database there is no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${process.getuid?.() ?? 0}`;
  }
}
