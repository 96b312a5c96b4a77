import { writeFile } from "node:fs/promises";

/** The file in which the kubelet looks for the reason of a container's end; the kubelet creates it. */
const FILE = "/dev/termination-log";

/**
 * Tells the cluster that the container was ended from outside. Without this an agent that exits with 0 on request looks
 * as if it had finished: an evicted pod keeps no other trace.
 */
export async function tellTermination(signal: AbortSignal, file = FILE): Promise<void> {
  if (!signal.aborted) return;
  await writeFile(file, "ended from outside", { flag: "r+" }).catch(() => {}); // not in a cluster
}
