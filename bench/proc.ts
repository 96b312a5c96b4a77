import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Linux reports CPU time in hundredths of a second. */
const TICK_MS = 10;

/** The CPU time of a process so far, ms, in steps of 10; optionally with its children that have ended. */
export function cpuMs(pid: number, withChildren = false): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const at = (index: number) => Number(fields[index]);
  return (at(11) + at(12) + (withChildren ? at(13) + at(14) : 0)) * TICK_MS;
}

/** The anonymous memory of a process, MiB: memory that is not backed by a file. */
export function anonymousMiB(pid: number): number {
  return kibOf(`/proc/${pid}/smaps_rollup`, "Anonymous") / 1024;
}

export function residentMiB(pid: number): number {
  return kibOf(`/proc/${pid}/status`, "VmRSS") / 1024;
}

/** The peak of a process's resident memory, MiB. */
export function peakResidentMiB(pid: number): number {
  return kibOf(`/proc/${pid}/status`, "VmHWM") / 1024;
}

function kibOf(file: string, key: string): number {
  const line = readFileSync(file, "utf8")
    .split("\n")
    .find((text) => text.startsWith(`${key}:`));
  return Number(/(\d+) kB/.exec(line ?? "")?.[1]);
}

export function childrenOf(pid: number): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ").filter(Boolean).map(Number);
}

export function tmuxPid(socketPath: string): number {
  return Number(
    execFileSync("tmux", ["-N", "-S", socketPath, "display-message", "-p", "#{pid}"], { encoding: "utf8" }),
  );
}
