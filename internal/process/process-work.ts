import { listPids, readOrEmpty, statFields } from "./proc-files.ts";
import type { WorkSample } from "./process-facts.ts";

/** Length of the kernel's tick in /proc, the same on every Linux. */
const TICK_MS = 10;
/** A waiting program wakes up now and then; a working one uses more than this share of one core. */
const WORKING_SHARE = 0.02;
/** A line of a transcript is longer; the wake-ups of a waiting program's own loop write a few bytes. */
const WORKING_BYTES = 1024;

/** True if two samples, `ms` apart, show work: computing, or a transcript that grows. Pure. */
export function didWork(before: WorkSample, after: WorkSample, ms: number): boolean {
  return (
    after.cpuMs - before.cpuMs >= Math.max(TICK_MS, WORKING_SHARE * ms) ||
    after.writtenBytes - before.writtenBytes >= WORKING_BYTES
  );
}

/**
 * Samples a process and its descendants from /proc; undefined if the process is not visible from here. Takes some
 * milliseconds on a machine with hundreds of processes.
 */
export function sampleWork(pid: number): WorkSample | undefined {
  const processes = listProcesses();
  if (!processes.has(pid)) return undefined;
  const tree = new Set([pid]);
  for (let size = 0; size !== tree.size; ) {
    size = tree.size;
    for (const [each, { parent }] of processes) if (tree.has(parent)) tree.add(each);
  }
  let cpuMs = 0;
  let writtenBytes = 0;
  for (const each of tree) {
    cpuMs += processes.get(each)?.cpuMs ?? 0;
    writtenBytes += writtenBy(each);
  }
  return { cpuMs, writtenBytes };
}

interface Process {
  readonly parent: number;
  readonly cpuMs: number;
}

function listProcesses(): ReadonlyMap<number, Process> {
  const found = new Map<number, Process>();
  for (const pid of pids()) {
    const fields = statFields(readOrEmpty(`/proc/${pid}/stat`));
    const [, parent] = fields;
    if (parent === undefined) continue;
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    found.set(pid, { parent: Number(parent), cpuMs: ticks * TICK_MS });
  }
  return found;
}

/** Empty where there is no /proc. */
function pids(): readonly number[] {
  try {
    return listPids();
  } catch {
    return [];
  }
}

/** 0 where the system does not reveal it. */
function writtenBy(pid: number): number {
  return Number(/^wchar: (\d+)$/m.exec(readOrEmpty(`/proc/${pid}/io`))?.[1] ?? 0);
}
