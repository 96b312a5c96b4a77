import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { TestContext } from "vitest";

/** Runs the program whose argv follows as the first process of its own pid namespace, which ends with it. */
export const PID_NAMESPACE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"] as const;

/** Skips a test whose user may not make one, with a line that says why. With `CI=true` that is a failure. */
export function requirePidNamespace(context: TestContext): void {
  const [program, ...args] = PID_NAMESPACE;
  try {
    execFileSync(program, [...args, "true"], { stdio: "ignore", timeout: 5000, killSignal: "SIGKILL" });
  } catch {
    const missing = "no pid namespace of its own for a process here; root, or CAP_SYS_ADMIN, has one (unshare --pid)";
    if (process.env["CI"] === "true") throw new Error(missing);
    context.skip(missing);
  }
}

/** The pid of the namespace's first process, as seen from outside. `unshare` itself ignores both SIGINT and SIGTERM. */
export function firstProcessOf(unshare: number): number {
  const [child] = readFileSync(`/proc/${unshare}/task/${unshare}/children`, "latin1").split(" ");
  if (child === undefined || child === "") throw new Error(`unshare (${unshare}) has no child`);
  return Number(child);
}
