import type { ClusterAccess } from "../../internal/kube/access/credentials.ts";
import type { TestCluster } from "../../test/support/cluster/cluster.ts";

/** What each measurement on a cluster gets; it runs in the cluster's network. */
export interface ClusterBench {
  readonly cluster: TestCluster;
  /** To its API server, as cluster admin. */
  readonly access: ClusterAccess;
  /** Of the pods with an agent; empty where the cluster has no node. */
  readonly image: string;
  /** Fewer and smaller: a look, not a figure. */
  readonly quick: boolean;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
  readonly note: (text: string) => void;
  /** It would give pods that are only pretended to the node, or say that none takes them. */
  stopScheduler(): Promise<void>;
}
