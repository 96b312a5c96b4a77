import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync } from "node:fs";

/** A path of the other half that must be out of reach. */
export interface Target {
  /** The name in reports, e.g. `the administrator's files`. */
  readonly name: string;
  /** Absolute. */
  readonly path: string;
}

/** A process outside. In a sandbox its pid may belong to another process. */
interface OutsideProcess {
  readonly pid: number;
  /** The start time in the system's ticks. */
  readonly startedAt: string;
}

/** The ways out that a probe tries. */
export interface ProbePlan {
  readonly targets: readonly Target[];
  /** Processes outside, whose /proc folders may lead out. */
  readonly processes: readonly OutsideProcess[];
  /** The names of the front's environment variables. */
  readonly environment: readonly string[];
}

const MAX_FD = 1024;

/** A way out of the front's bounds, and whether it is open. */
export interface Way {
  readonly name: string;
  readonly isOpen: boolean;
}

/** Tries every way out of this process. */
export function tryWays(plan: ProbePlan, environment: readonly string[]): readonly Way[] {
  const { targets } = plan;
  const pids = plan.processes.filter(isThere).map(({ pid }) => pid);
  const foreign = environment.filter((name) => !plan.environment.includes(name));
  const files = inheritedFiles();
  return [
    ...targets.map(({ name, path }) => ({ name: `${name} by path`, isOpen: canOpen(path) })),
    ...targets.map(({ name, path }) => ({
      name: `${name} by /proc/self/root`,
      isOpen: canOpen(`/proc/self/root${path}`),
    })),
    ...targets.map(({ name, path }) => ({
      name: `${name} by /proc/PID/root`,
      isOpen: pids.some((pid) => canOpen(`/proc/${pid}/root${path}`)),
    })),
    ...["cwd", "fd", "environ", "mem"].map((part) => ({
      name: `another process by /proc/PID/${part}`,
      isOpen: pids.some((pid) => canOpen(`/proc/${pid}/${part}`)),
    })),
    { name: `an inherited descriptor${files.length > 0 ? ` (${files.join(", ")})` : ""}`, isOpen: files.length > 0 },
    {
      name: `a variable beyond the list${foreign.length > 0 ? ` (${foreign.join(", ")})` : ""}`,
      isOpen: foreign.length > 0,
    },
  ];
}

/** False if its pid belongs to another process here. */
function isThere({ pid, startedAt }: OutsideProcess): boolean {
  const found = processStart(pid);
  return found === undefined || found === startedAt;
}

/** When a process began; undefined if that cannot be read. */
export function processStart(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}

/** True if the path can be opened as a file, or listed as a folder. */
function canOpen(path: string): boolean {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    closeSync(fd);
    return true;
  } catch {
    return canList(path);
  }
}

function canList(path: string): boolean {
  try {
    readdirSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Open files and folders; each was inherited, because neither this process nor Node keeps one open. */
function inheritedFiles(): readonly number[] {
  const found: number[] = [];
  for (let fd = 3; fd < MAX_FD; fd++) {
    try {
      const stats = fstatSync(fd);
      if (stats.isFile() || stats.isDirectory()) found.push(fd);
    } catch {
      // not open
    }
  }
  return found;
}
