import { readFileSync } from "node:fs";
import { listPids, parseStat, pidsOf, readOrEmpty, statFields } from "./proc-files.ts";
import type { Children } from "./reaper.ts";

/** Do not block; answer 0 when it has not ended. */
const WNOHANG = 1;

/** Children of this process by /proc and waitpid. The native part is loaded only here. */
export async function linuxChildren(): Promise<Children> {
  const { default: koffi } = await import("koffi");
  const waitpid = koffi.load(null).func("int waitpid(int pid, void *status, int options)");
  return {
    list: listChildren,
    state: (pid) => parseStat(readOrEmpty(`/proc/${pid}/stat`)),
    wait: (pid) => {
      // 0 and below mean groups of children or any child: those of others too.
      if (pid > 0) waitpid(pid, null, WNOHANG);
    },
    onEnd: (callback) => {
      process.on("SIGCHLD", callback);
      return () => process.off("SIGCHLD", callback);
    },
  };
}

/**
 * Those of the main thread: the kernel gives orphans to it, while what a worker started stays with the worker, which
 * may be too busy to wait for it in any time. A kernel without this file (CONFIG_PROC_CHILDREN) needs a look at all
 * processes and does not tell threads apart.
 */
function listChildren(): readonly number[] {
  try {
    return pidsOf(readFileSync(`/proc/self/task/${process.pid}/children`, "latin1").split(" "));
  } catch {
    const parent = String(process.pid);
    return listPids().filter((pid) => statFields(readOrEmpty(`/proc/${pid}/stat`))[1] === parent);
  }
}
