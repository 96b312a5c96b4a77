import type { RunningReplica } from "./controller-cluster.ts";

/** By its log, of its last term: each line says that it leads, or that it does not any more. */
export function leads(replica: Pick<RunningReplica, "log">): boolean {
  const log = replica.log();
  return log.lastIndexOf('"this replica leads"') > log.lastIndexOf('"this replica no longer leads"');
}
