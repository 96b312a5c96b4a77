import { listPids, parseStat, readOrEmpty } from "./proc-files.ts";

/**
 * The processes of this user whose environment holds `NAME=VALUE`: a program and all processes that it has started,
 * even those that have left its group or become daemons, unless they have cleared their environment. Linux only;
 * elsewhere none are found.
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
 * Sends KILL to the marked processes until none is left, at most `rounds` times: a later round finds processes that
 * were started meanwhile.
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
