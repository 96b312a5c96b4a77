import { readdirSync, readFileSync } from "node:fs";

const MAX_DEPTH = 4;
const MAX_PROCESSES = 64;

/**
 * The first four words of the command lines of a process and of its descendants, parents first: four levels, at most 64
 * processes. A line is empty where the system does not report it.
 */
export function processTree(root: number): { readonly pid: number; readonly words: readonly string[] }[] {
  const found: { readonly pid: number; readonly words: readonly string[] }[] = [];
  let level = [root];
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth++) {
    for (const pid of level) if (found.length < MAX_PROCESSES) found.push({ pid, words: commandLine(pid) });
    level = level.flatMap(children);
  }
  return found;
}

function commandLine(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, 4);
  } catch {
    return [];
  }
}

function children(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}
