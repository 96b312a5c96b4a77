import { readFileSync } from "node:fs";
import { listPids, parseStat, pidsOf, readOrEmpty, statFields } from "./proc-files.ts";
import type { Children } from "./reaper.ts";

/** Do not block; return 0 if the child has not ended. */
const WNOHANG = 1;

/** Children of this process by /proc and waitpid. The native part is loaded only here. */
export async function linuxChildren(): Promise<Children> {
  const { default: koffi } = await import("koffi");
  const waitpid = koffi.load(null).func("int waitpid(int pid, void *status, int options)");
  return {
    list: listChildren,
    state: (pid) => parseStat(readOrEmpty(`/proc/${pid}/stat`)),
    wait: (pid) => {
      // 0 and negative numbers mean a group of children or any child, other code's children included.
      if (pid > 0) waitpid(pid, null, WNOHANG);
    },
    onEnd: (callback) => {
      process.on("SIGCHLD", callback);
      return () => process.off("SIGCHLD", callback);
    },
  };
}

/**
 * The children of the main thread, to which the kernel also gives orphans. Children of a worker belong to the worker's
 * thread, which may be too busy to wait for them. A kernel without this file (CONFIG_PROC_CHILDREN) needs a scan of all
 * processes, which does not distinguish threads.
 */
function listChildren(): readonly number[] {
  try {
    return pidsOf(readFileSync(`/proc/self/task/${process.pid}/children`, "latin1").split(" "));
  } catch {
    const parent = String(process.pid);
    return listPids().filter((pid) => statFields(readOrEmpty(`/proc/${pid}/stat`))[1] === parent);
  }
}
