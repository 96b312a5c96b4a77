import { writeFile } from "node:fs/promises";

/** Where the kubelet reads why a container ended; it makes the file. */
const FILE = "/dev/termination-log";

/**
 * Tells the cluster that the container was ended from outside. An agent that exits with 0 on request would look as
 * if it had come to its own end: a pod that its node evicts keeps no other trace then.
 */
export async function tellTermination(signal: AbortSignal, file = FILE): Promise<void> {
  if (!signal.aborted) return;
  await writeFile(file, "ended from outside", { flag: "r+" }).catch(() => {}); // not in a cluster
}
