import { component } from "../../test/support/cluster/components.ts";
import { ControllerCluster } from "../../test/support/cluster/controller-cluster.ts";
import { type Measured, measured } from "../report/row.ts";
import { quantile } from "../stats.ts";
import type { ClusterBench } from "./cluster-bench.ts";

/** Measures StartSession over mTLS, until the certificate exists and the scheduler may take the pod. */
export async function measureStarts({ cluster, quick, say, note }: ClusterBench): Promise<readonly Measured[]> {
  if ("missing" in (await component("kubectl"))) return [];
  await using town = await ControllerCluster.make(cluster, undefined);
  await town.configure(
    "agent:1",
    { max_per_project: 1_000, max_global: 1_000 },
    // The tests' tokens expire after a few seconds, so their renewal would be measured, too.
    { limits: { starts_per_minute: 100_000 }, session_tokens: { key_path: "agents.key" } },
  );
  const replica = await town.replica();
  const times: number[] = [];
  const count = quick ? 10 : 100;
  for (let i = -3; i < count; i++) {
    const from = performance.now();
    await replica.client.startSession({
      projectId: "shop",
      sessionId: `s${i + 3}`,
      provider: "demo",
      repoPath: "/workspace",
    });
    if (i >= 0) times.push(performance.now() - from); // the first ones warm up
  }
  say(`starts: ${count}`);
  note(
    "Starts: one caller, one after the other, through one replica; the pod, its Secret with a new P-384 key, the gate removed. No node: nothing is scheduled.",
  );
  return [
    measured("StartSession to the gate removed, p50", quantile(times, 0.5), "ms", { atMost: 50 }),
    measured("StartSession to the gate removed, p99", quantile(times, 0.99), "ms", { atMost: 300 }),
  ];
}
