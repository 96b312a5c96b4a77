import { readFileSync } from "node:fs";

/**
 * The mount that an open file lies on. Its device number is no substitute: on an overlay it differs from file to
 * folder. Linux only. @throws as `readFileSync`
 */
export function mountOf(fd: number): string {
  const [, id = ""] = /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1")) ?? [];
  return id;
}
