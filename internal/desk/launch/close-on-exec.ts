import { readdirSync } from "node:fs";

const F_SETFD = 2;
const FD_CLOEXEC = 1;

/**
 * No program that is started from now on inherits a descriptor above 2 that is open now, not even one that this process
 * itself was given. Linux; the native part is loaded only here.
 */
export async function closeAllOnExec(): Promise<void> {
  const { default: koffi } = await import("koffi");
  const fcntl = koffi.load(null).func("int fcntl(int fd, int cmd, ...)");
  for (const name of readdirSync("/proc/self/fd")) {
    if (Number(name) > 2) fcntl(Number(name), F_SETFD, "int", FD_CLOEXEC);
  }
}
