import { readFileSync } from "node:fs";

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
  identity: (pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
      // The second field is a name in brackets that may hold blanks and brackets; the 22nd is the start time in ticks.
      return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
    } catch {
      return undefined;
    }
  },
};

/** Wall clock, ms, when a process began; undefined where the system does not tell. */
export function processStartedAt(pid: number): number | undefined {
  try {
    const [boot] = /(?<=^btime )\d+/m.exec(readFileSync("/proc/stat", "latin1")) ?? [];
    const ticks = Number(systemProcesses.identity(pid));
    return ticks > 0 && boot !== undefined ? Number(boot) * 1000 + ticks * MS_PER_TICK : undefined;
  } catch {
    return undefined;
  }
}

/** What Linux counts start times in, whatever its own timer does. */
const MS_PER_TICK = 10;
