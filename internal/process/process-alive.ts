import { parseStat, readOrEmpty } from "./proc-files.ts";

/** Facts about processes; injected so that tests need no real ones. */
export interface Processes {
  /** True while a process with this pid exists, ours or not. */
  exists(pid: number): boolean;
  /**
   * A value that distinguishes a process from an earlier or later one with the same pid; undefined where the system
   * does not reveal it.
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

/** The start of a process, wall clock, ms; undefined where the system does not reveal it. */
export function processStartedAt(pid: number): number | undefined {
  const [boot] = /(?<=^btime )\d+/m.exec(readOrEmpty("/proc/stat")) ?? [];
  const ticks = Number(systemProcesses.identity(pid));
  return ticks > 0 && boot !== undefined ? Number(boot) * 1000 + ticks * MS_PER_TICK : undefined;
}

/** The unit of start times on Linux, whatever the frequency of the kernel's own timer. */
const MS_PER_TICK = 10;
