import type { RunningReplica } from "./controller-cluster.ts";

/** Whether the replica leads according to its log: one line reports the start of each term, another one its end. */
export function leads(replica: Pick<RunningReplica, "log">): boolean {
  const log = replica.log();
  return log.lastIndexOf('"this replica leads"') > log.lastIndexOf('"this replica no longer leads"');
}
