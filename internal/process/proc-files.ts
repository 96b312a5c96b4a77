import { readdirSync, readFileSync } from "node:fs";

/** Empty for a file that does not exist (any more): a process may end at any moment. */
export function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

/** All pids visible to this process. @throws where there is no /proc */
export function listPids(): readonly number[] {
  return pidsOf(readdirSync("/proc"));
}

/** The words that are pids, as numbers. */
export function pidsOf(words: readonly string[]): readonly number[] {
  return words.filter((word) => /^[1-9]\d*$/.test(word)).map(Number);
}

/**
 * The fields of /proc/PID/stat from the state on; the name before it may hold blanks and brackets. Empty for any other
 * text.
 */
export function statFields(text: string): readonly string[] {
  const end = text.lastIndexOf(")");
  return end < 0 ? [] : text.slice(end + 2).split(" ");
}

/**
 * The start of a process, in the kernel's ticks, and whether it has ended; undefined for a text that is not a
 * /proc/PID/stat.
 */
export function parseStat(text: string): { readonly startedAt: string; readonly isZombie: boolean } | undefined {
  const fields = statFields(text);
  const startedAt = fields[19];
  return startedAt === undefined ? undefined : { startedAt, isZombie: fields[0] === "Z" };
}
