import { readFileSync } from "node:fs";

/**
 * The mount that an open file lies on. The file's device number is no substitute: on an overlay, a file and its folder
 * have different ones. Linux only.
 * @throws as `readFileSync`
 */
export function mountOf(fd: number): string {
  const [, id = ""] = /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1")) ?? [];
  return id;
}
