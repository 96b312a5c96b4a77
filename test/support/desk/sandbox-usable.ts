import { spawnSync } from "node:child_process";

/**
 * Whether this machine allows bubblewrap to make a sandbox. If it does not, a line says that `what` is skipped; in CI
 * that is an error.
 */
export function isSandboxUsable(what: string): boolean {
  const tried = spawnSync("bwrap", ["--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "true"], {
    encoding: "utf8",
  });
  if (tried.status === 0) return true;
  const why = tried.stderr?.trim() || "no program bwrap; install it with: apt-get install bubblewrap";
  if (process.env["CI"] === "true") throw new Error(`${what}: there is no sandbox: ${why}`);
  process.stderr.write(`${what} is not tried: ${why}\n`);
  return false;
}
