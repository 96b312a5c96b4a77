import type { ClusterAccess } from "../../internal/kube/access/credentials.ts";
import type { TestCluster } from "../../test/support/cluster/cluster.ts";

/** The context of each measurement on a cluster; it runs in the cluster's network. */
export interface ClusterBench {
  readonly cluster: TestCluster;
  /** Access to its API server as cluster admin. */
  readonly access: ClusterAccess;
  /** The image of the pods with an agent; empty where the cluster has no node. */
  readonly image: string;
  /** Fewer and smaller rounds: a quick look without reliable figures. */
  readonly quick: boolean;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
  readonly note: (text: string) => void;
  /** Stops the scheduler, which would bind fake pods to the node, or report that no node fits. */
  stopScheduler(): Promise<void>;
}
