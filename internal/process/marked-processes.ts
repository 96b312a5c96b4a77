import { listPids, parseStat, readOrEmpty } from "./proc-files.ts";

/**
 * The processes of this user whose environment holds `NAME=VALUE`: a program and all that it has started, also what has
 * left its group or become a daemon, unless it has cleared its environment. Linux only; elsewhere none are found.
 * @internal
 */
export function markedProcesses(name: string, value: string): readonly number[] {
  if (process.platform !== "linux") return [];
  const entry = `${name}=${value}`;
  return listPids().filter((pid) => {
    if (pid === process.pid || !readOrEmpty(`/proc/${pid}/environ`).split("\0").includes(entry)) return false;
    return parseStat(readOrEmpty(`/proc/${pid}/stat`))?.isZombie === false;
  });
}

/**
 * Sends KILL to them until none is left, at most `rounds` times: what one has started meanwhile is found the next time.
 */
export function killMarked(name: string, value: string, rounds = 5): void {
  for (let i = 0; i < rounds; i++) {
    const pids = markedProcesses(name, value);
    if (pids.length === 0) return;
    for (const pid of pids) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended.
      }
    }
  }
}
