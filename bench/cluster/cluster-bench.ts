import type { ClusterAccess } from "../../internal/kube/access/credentials.ts";
import type { TestCluster } from "../../test/support/cluster/cluster.ts";

/** What each measurement on a cluster gets. */
export interface ClusterBench {
  readonly cluster: TestCluster;
  /** Of the cluster, for the program that made it. */
  readonly name: string;
  /** To its API server, as cluster admin. */
  readonly access: ClusterAccess;
  /** Fewer and smaller: a look, not a figure. */
  readonly quick: boolean;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
  readonly note: (text: string) => void;
}
