import { parseStat, readOrEmpty } from "./proc-files.ts";

/** False for a process that has ended, even before it is reaped. The pid may belong to another process by now. */
export function processLives(pid: number): boolean {
  if (process.platform === "linux") return parseStat(readOrEmpty(`/proc/${pid}/stat`))?.isZombie === false;
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
