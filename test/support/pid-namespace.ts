import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Runs the program whose argv follows as the first process of a pid namespace of its own, which ends with it. */
export const PID_NAMESPACE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"] as const;

/** Whether this machine lets its user make one; says so on stderr when it does not. */
export function permitsPidNamespace(): boolean {
  const [program, ...args] = PID_NAMESPACE;
  try {
    execFileSync(program, [...args, "true"], { stdio: "ignore", timeout: 5000, killSignal: "SIGKILL" });
    return true;
  } catch {
    process.stderr.write("first process: skipped, this machine does not permit pid namespaces (unshare --pid)\n");
    return false;
  }
}

/** The pid that the first process of the namespace has out here. `unshare` itself heeds neither SIGINT nor SIGTERM. */
export function firstProcessOf(unshare: number): number {
  const [child] = readFileSync(`/proc/${unshare}/task/${unshare}/children`, "latin1").split(" ");
  if (child === undefined || child === "") throw new Error(`unshare (${unshare}) has no child`);
  return Number(child);
}
