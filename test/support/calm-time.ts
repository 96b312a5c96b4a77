import { readFileSync } from "node:fs";

/**
 * Gives, when called later, the milliseconds since in which no process of this machine waited for a core, or none for a
 * disk, whichever is fewer: a promise of so many is about these. Where tests share the cores, anyone may have to wait
 * for longer than that.
 */
export function calmTime(): () => number {
  const begun = { at: performance.now(), coreMs: waitedMs("cpu"), diskMs: waitedMs("io") };
  return () => {
    const waited = Math.max(waitedMs("cpu") - begun.coreMs, waitedMs("io") - begun.diskMs);
    return performance.now() - begun.at - waited;
  };
}

/** In how many some process has waited for it, by the kernel's count; nothing where it does not count. */
function waitedMs(what: "cpu" | "io"): number {
  try {
    const micros = /^some .*total=(\d+)/m.exec(readFileSync(`/proc/pressure/${what}`, "latin1"))?.[1];
    return Number(micros ?? 0) / 1000;
  } catch {
    return 0;
  }
}
