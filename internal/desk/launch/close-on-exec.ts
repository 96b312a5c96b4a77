import { readdirSync } from "node:fs";

const F_SETFD = 2;
const FD_CLOEXEC = 1;

/**
 * Marks every open descriptor above 2 close-on-exec, inherited ones too, so that no program started from now on gets
 * them. Linux only. The native library is loaded by the first call, not at import.
 */
export async function closeAllOnExec(): Promise<void> {
  const { default: koffi } = await import("koffi");
  const fcntl = koffi.load(null).func("int fcntl(int fd, int cmd, ...)");
  for (const name of readdirSync("/proc/self/fd")) {
    if (Number(name) > 2) fcntl(Number(name), F_SETFD, "int", FD_CLOEXEC);
  }
}
