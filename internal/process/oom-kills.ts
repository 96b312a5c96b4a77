import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The paths at which the kernel describes control groups. */
export interface CgroupPlaces {
  /** The file that names this process's group in each hierarchy. */
  readonly own: string;
  readonly mounted: string;
}

const PLACES: CgroupPlaces = { own: "/proc/self/cgroup", mounted: "/sys/fs/cgroup" };

/**
 * The number of processes in this process's control group (in a cluster, its container) that the kernel has killed for
 * lack of memory; undefined if the system does not reveal it.
 */
export function oomKills({ own, mounted }: CgroupPlaces = PLACES): number | undefined {
  const groups = textOf(own) ?? "";
  const v1 = /^\d+:(?:[^:\n]*,)?memory(?:,[^:\n]*)?:(.*)$/m.exec(groups)?.[1];
  const v2 = /^0::(.*)$/m.exec(groups)?.[1] ?? "";
  // A container sees its own group as the root, although `own` may name the group as the machine sees it.
  const files =
    v1 === undefined
      ? [join(mounted, v2, "memory.events"), join(mounted, "memory.events")]
      : [join(mounted, "memory", v1, "memory.oom_control"), join(mounted, "memory", "memory.oom_control")];
  for (const file of files) {
    const count = /^oom_kill (\d+)$/m.exec(textOf(file) ?? "")?.[1];
    if (count !== undefined) return Number(count);
  }
  return undefined;
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined; // another kernel, or no control groups
  }
}
