import { closeSync, readdirSync } from "node:fs";
import { readOrEmpty } from "../proc-files.ts";

const O_CLOEXEC = 0o2000000;

/**
 * Closes the descriptors that this process has inherited beside its standard streams, so that the programs it starts do
 * not get them. Node opens its own descriptors close-on-exec. The channel to a parent that runs Node stays open. Linux
 * only.
 */
export function closeInherited(channel: string | undefined): void {
  if (process.platform !== "linux") return;
  for (const fd of readdirSync("/proc/self/fd").map(Number)) {
    if (fd <= 2 || String(fd) === channel) continue;
    const flags = /^flags:\s*(\d+)$/m.exec(readOrEmpty(`/proc/self/fdinfo/${fd}`))?.[1];
    if (flags !== undefined && (Number.parseInt(flags, 8) & O_CLOEXEC) === 0) closeSync(fd);
  }
}
