import type { RunningReplica } from "./controller-cluster.ts";

/** Whether the replica leads, by its log: a line reports the begin of each term, another its end. */
export function leads(replica: Pick<RunningReplica, "log">): boolean {
  const log = replica.log();
  return log.lastIndexOf('"this replica leads"') > log.lastIndexOf('"this replica no longer leads"');
}
