import { readFileSync } from "node:fs";
import { DomainError } from "../../base/errors.ts";
import { runCommand } from "../../process/run-command.ts";

/** The system user that PostgreSQL runs as. */
export interface SystemUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/**
 * The user that a PostgreSQL of this process runs as: the process's own user; if that is root, which PostgreSQL
 * refuses, `postgres` or `nobody`.
 * @throws DomainError `precondition` (`problem`: `folder`) for a uid without an entry in /etc/passwd
 */
export function postgresUser(uid: number, passwd = "/etc/passwd"): SystemUser {
  const users = readFileSync(passwd, "utf8")
    .split("\n")
    .map((line) => line.split(":"))
    .map(([name = "", , id, group]) => ({ name, uid: Number(id), gid: Number(group) }));
  const found =
    uid === 0
      ? (users.find((one) => one.name === "postgres") ?? users.find((one) => one.name === "nobody"))
      : users.find((one) => one.uid === uid);
  if (found !== undefined) return found;
  throw new DomainError("precondition", `the user ${uid} has no entry in ${passwd}, and PostgreSQL needs one`, {
    fields: { problem: "folder", hint: "run threads as a user that has one, or give --database-url" },
  });
}

/** Whether a file passes `test -x` or `test -r` for the user. */
export async function canUser(
  user: SystemUser,
  test: "-x" | "-r",
  path: string,
  signal: AbortSignal,
): Promise<boolean> {
  const isOther = process.getuid?.() === 0 && user.uid !== 0;
  const [program, args] = isOther
    ? ["setpriv", ["--reuid", String(user.uid), "--regid", String(user.gid), "--clear-groups", "test", test, path]]
    : ["test", [test, path]];
  const limits = { cwd: "/", env: { PATH: "/usr/bin:/bin:/usr/local/bin" }, timeoutMs: 20_000, maxBytes: 4096 };
  const result = await runCommand(program as string, args as string[], limits, signal);
  return result.type === "exit" && result.code === 0;
}
