import { readdirSync, readFileSync } from "node:fs";
import type { Children, ChildState } from "./reaper.ts";

/** Do not block; answer 0 when it has not ended. */
const WNOHANG = 1;

/** Children of this process by /proc and waitpid. The native part is loaded here, so that nobody else pays for it. */
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
 * Those of the main thread: the kernel gives orphans to it, while what a worker started stays with the worker, which may
 * be too busy to wait for it in any time. A kernel without this file (CONFIG_PROC_CHILDREN) needs a look at all processes and
 * does not tell threads apart.
 */
function listChildren(): readonly number[] {
  try {
    return numbers(readFileSync(`/proc/self/task/${process.pid}/children`, "latin1").split(" "));
  } catch {
    const parent = String(process.pid);
    return numbers(readdirSync("/proc")).filter((pid) => statFields(readOrEmpty(`/proc/${pid}/stat`))[1] === parent);
  }
}

function numbers(words: readonly string[]): readonly number[] {
  return words.filter((word) => /^[1-9]\d*$/.test(word)).map(Number);
}

/** Reads /proc/PID/stat; undefined for what is not one. */
export function parseStat(text: string): ChildState | undefined {
  const fields = statFields(text);
  const startedAt = fields[19];
  return startedAt === undefined ? undefined : { startedAt, isZombie: fields[0] === "Z" };
}

/** From the state on: the name before it may hold blanks and brackets. */
function statFields(text: string): readonly string[] {
  const end = text.lastIndexOf(")");
  return end < 0 ? [] : text.slice(end + 2).split(" ");
}

/** Empty for a file that is not there (any more). */
export function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return ""; // it has ended
  }
}
