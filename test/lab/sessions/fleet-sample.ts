import { readdirSync, readFileSync } from "node:fs";
import { anonymousMiB } from "../../../bench/proc.ts";
import type { RunningBridge } from "../../support/bridge/bridge-folder.ts";
import { descriptors, keptMiB } from "../held.ts";

/** The resources of a part of the fleet at one moment. */
interface Held {
  readonly processes: number;
  readonly anonymousMiB: number;
  readonly descriptors: number;
}

export interface FleetSample {
  readonly atSeconds: number;
  readonly bridge: Held;
  /** The bridge's memory after collections: the old generation and the memory outside its heap. */
  readonly bridgeKeptMiB: number;
  readonly sidecars: Held;
  readonly tmux: Held;
}

/** The processes whose environment or command line names the fleet's folder, by pid. */
export function processesOf(dir: string): ReadonlyMap<number, string> {
  const pids = readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name) && Number(name) !== process.pid);
  const named = pids.map((pid) => [Number(pid), textOf(`/proc/${pid}/cmdline`)] as const);
  return new Map(named.filter(([pid, line]) => line.includes(dir) || textOf(`/proc/${pid}/environ`).includes(dir)));
}

export async function takeFleetSample(
  dir: string,
  { process: { pid = 0 }, healthUrl }: Pick<RunningBridge, "process" | "healthUrl">,
  atSeconds: number,
): Promise<FleetSample> {
  const all = [...processesOf(dir)];
  const ours = (fits: (line: string) => boolean) => all.flatMap(([pid, line]) => (fits(line) ? [pid] : []));
  return {
    atSeconds: Math.round(atSeconds),
    bridge: heldBy([pid]),
    bridgeKeptMiB: await keptMiB(healthUrl),
    sidecars: heldBy(ours((line) => /gt-sidecar(?:\.mjs|\/main\.ts)/.test(line))),
    tmux: heldBy(ours((line) => /^tmux/.test(line))),
  };
}

function heldBy(pids: readonly number[]): Held {
  const held = pids.map((pid) => ({ mib: orZero(() => anonymousMiB(pid)), open: orZero(() => descriptors(pid)) }));
  const alive = held.filter(({ open }) => open > 0);
  return {
    processes: alive.length,
    anonymousMiB: alive.reduce((all, { mib }) => all + mib, 0),
    descriptors: alive.reduce((all, { open }) => all + open, 0),
  };
}

/** A process may end while it is being read. */
function orZero(read: () => number): number {
  try {
    return read() || 0;
  } catch {
    return 0;
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}
