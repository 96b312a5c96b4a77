import { readFileSync } from "node:fs";

/**
 * Gives, when called later, the milliseconds since in which no process of this machine waited for a core or a disk: a
 * promise of so many is about these. Where tests share the cores, anyone may have to wait for longer than that.
 */
export function calmTime(): () => number {
  const begun = { at: performance.now(), busyMs: busyMs() };
  return () => performance.now() - begun.at - (busyMs() - begun.busyMs);
}

/** What the kernel has counted so far; nothing where it does not count. */
function busyMs(): number {
  const micros = ["cpu", "io"].map((what) => {
    try {
      return Number(/^some .*total=(\d+)/m.exec(readFileSync(`/proc/pressure/${what}`, "latin1"))?.[1] ?? 0);
    } catch {
      return 0;
    }
  });
  return (micros[0] ?? 0) / 1000 + (micros[1] ?? 0) / 1000;
}
