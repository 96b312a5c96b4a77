import { ChangingPods } from "../../test/support/cluster/changing-pods.ts";
import { ControllerCluster } from "../../test/support/cluster/controller-cluster.ts";
import type { ClusterBench } from "./cluster-bench.ts";

export const NAMESPACES = ["town-agents", "pods-2", "pods-3", "pods-4"];
/** Padding that makes pods as large as in a cluster with service meshes: 6 KiB of JSON each. */
const FILLER = 3_000;

/** A cluster in which controllers may start, with thousands of pods that are sessions. */
export interface TownOfPods extends AsyncDisposable {
  readonly town: ControllerCluster;
  readonly pods: ChangingPods;
}

export async function townOfPods({ cluster, access }: ClusterBench, count: number): Promise<TownOfPods> {
  const stack = new AsyncDisposableStack();
  const town = stack.use(await ControllerCluster.make(cluster, undefined));
  for (const name of NAMESPACES.slice(1)) await cluster.kubectl(["create", "namespace", name]);
  const namespaces = NAMESPACES.map((name) => ({ name, project: "shop", plaintext: true }));
  const limits = { limits: { starts_per_minute: 100_000 } };
  await town.configure("agent:1", { max_per_project: 20_000, max_global: 20_000 }, { namespaces, ...limits });
  const options = { access, namespaces: NAMESPACES, filler: FILLER };
  const pods = stack.use(new ChangingPods(await modelPod(town), options));
  await pods.make(count);
  return { town, pods, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** A pod as a replica makes it. */
async function modelPod(town: ControllerCluster): Promise<unknown> {
  await using replica = await town.replica();
  await replica.client.startSession({
    projectId: "shop",
    sessionId: "model",
    provider: "demo",
    repoPath: "/workspace",
  });
  const get = ["-n", town.agents, "get", "pod", "-l", "gastown.io/session=model", "-o", "json"];
  return JSON.parse(await town.cluster.kubectl(get)).items[0];
}
