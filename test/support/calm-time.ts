import { readFileSync } from "node:fs";

/**
 * Returns a function for the milliseconds since this call in which no process of this machine waited for a core, or
 * none for a disk, whichever is fewer. A promised duration refers to this time: where tests share the cores, any
 * process may have to wait for longer.
 */
export function calmTime(): () => number {
  const begun = { at: performance.now(), coreMs: waitedMs("cpu"), diskMs: waitedMs("io") };
  return () => {
    const waited = Math.max(waitedMs("cpu") - begun.coreMs, waitedMs("io") - begun.diskMs);
    return performance.now() - begun.at - waited;
  };
}

/** The milliseconds in which some process has waited for it, by the kernel's count; 0 without such a count. */
function waitedMs(what: "cpu" | "io"): number {
  try {
    const micros = /^some .*total=(\d+)/m.exec(readFileSync(`/proc/pressure/${what}`, "latin1"))?.[1];
    return Number(micros ?? 0) / 1000;
  } catch {
    return 0;
  }
}
