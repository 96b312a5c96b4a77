import { readdirSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import { listPids } from "./proc-files.ts";
import { processTree } from "./process-tree.ts";

const MAX_FILES = 16;

/**
 * The names, without their folders, of files with this ending that a process and its descendants have open; parents
 * first, at most 16. Empty where the system does not report them.
 */
export function openFiles(root: number, ending: string): readonly string[] {
  const names = processTree(root).flatMap(({ pid }) => filesOf(pid).filter((name) => name.endsWith(ending)));
  return [...new Set(names)].slice(0, MAX_FILES);
}

/**
 * True if some process on this machine has a file open whose name, without its folder, contains `part`; processes that
 * this one may not inspect do not count. Undefined where the system does not report open files.
 */
export function isOpenSomewhere(part: string): boolean | undefined {
  let pids: readonly number[];
  try {
    pids = listPids();
  } catch {
    return undefined;
  }
  return pids.length === 0 ? undefined : pids.some((pid) => filesOf(pid).some((name) => name.includes(part)));
}

function filesOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => targetOf(`/proc/${pid}/fd/${fd}`));
  } catch {
    return [];
  }
}

/** Empty for a descriptor that has no name in the file system. */
function targetOf(link: string): readonly string[] {
  try {
    const target = readlinkSync(link);
    return target.startsWith("/") ? [basename(target)] : [];
  } catch {
    return [];
  }
}
