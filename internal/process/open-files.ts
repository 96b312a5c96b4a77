import { readdirSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
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

function filesOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => targetOf(`/proc/${pid}/fd/${fd}`));
  } catch {
    return [];
  }
}

/** Empty for what has no name in the file system. */
function targetOf(link: string): readonly string[] {
  try {
    const target = readlinkSync(link);
    return target.startsWith("/") ? [basename(target)] : [];
  } catch {
    return [];
  }
}
