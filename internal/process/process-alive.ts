import { parseStat, readOrEmpty } from "./proc-files.ts";

/** What is known of processes; injected so that tests need none. */
export interface Processes {
  /** True while a process with this pid exists, ours or not. */
  exists(pid: number): boolean;
  /**
   * Something that differs between two processes which have had the same pid one after the other; undefined where the
   * system does not tell.
   */
  identity(pid: number): string | undefined;
}

export const systemProcesses: Processes = {
  exists: (pid) => {
    try {
      process.kill(pid, 0);
      return true;
    } catch (err) {
      return (err as NodeJS.ErrnoException).code === "EPERM";
    }
  },
  identity: (pid) => parseStat(readOrEmpty(`/proc/${pid}/stat`))?.startedAt,
};

/** Wall clock, ms, when a process began; undefined where the system does not tell. */
export function processStartedAt(pid: number): number | undefined {
  const [boot] = /(?<=^btime )\d+/m.exec(readOrEmpty("/proc/stat")) ?? [];
  const ticks = Number(systemProcesses.identity(pid));
  return ticks > 0 && boot !== undefined ? Number(boot) * 1000 + ticks * MS_PER_TICK : undefined;
}

/** What Linux counts start times in, whatever its own timer does. */
const MS_PER_TICK = 10;
