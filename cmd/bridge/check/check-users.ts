import { statSync } from "node:fs";
import { type UnixUser, unixUser } from "../../../internal/process/users/unix-user.ts";
import type { BridgeFile } from "../file/read-bridge-file.ts";
import { ONE_USER } from "../place/projects-apart.ts";

const HINT = "projects.NAME.run_as gives a project's agents a user of their own";

/**
 * Checks the users that projects' agents run as, and which secret files they could read. Warns if no project has a
 * user.
 */
export function checkUsers({ config, findings }: BridgeFile): void {
  const { runAs, tls, sessionTokens } = config;
  if (runAs.size === 0) {
    findings.warning(["projects"], `has no run_as: ${ONE_USER}; ${HINT}`);
    return;
  }
  const own = process.getuid?.();
  if (own !== 0) findings.fault(["projects"], "run_as needs a bridge that was started as root");
  const projectsOf = new Map<number, string>();
  for (const [project, name] of runAs) {
    const key = ["projects", project, "run_as"];
    const user = findings.tried(key, () => unixUser(name));
    if (user === undefined) continue;
    if (user.uid === 0) findings.fault(key, "must not be root: its agents could do everything on this machine");
    else if (user.uid === own) findings.fault(key, "must not be the bridge's own user");
    const other = projectsOf.get(user.uid);
    if (other !== undefined) {
      const both = `${JSON.stringify(other)} and ${JSON.stringify(project)}`;
      findings.warning(
        key,
        `is also the user of another project: the agents of ${both} are not isolated from each other`,
      );
    }
    projectsOf.set(user.uid, project);
    for (const secret of [
      ["tls", "key", tls.key],
      ["session_tokens", "key_path", sessionTokens?.keyPath],
    ] as const) {
      const [block, name_, path] = secret;
      if (path !== undefined && canRead(user, path))
        findings.fault([block, name_], `${path} can be read by ${user.name}, as whom agents run`);
    }
  }
}

/** Judges by the file's own mode: the folders above it may be closed now and open tomorrow. */
function canRead(user: UnixUser, path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return false;
  const bits = found.uid === user.uid ? 0o400 : found.gid === user.gid ? 0o040 : 0o004;
  return (found.mode & bits) !== 0;
}
