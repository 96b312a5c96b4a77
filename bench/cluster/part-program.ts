// Runs one part of `bench:cluster` in the network of a cluster that `main.ts` has made; writes its result to stdout.
import { DomainError } from "../../internal/base/errors.ts";
import { runMain } from "../../internal/cli/run-main.ts";
import { kubeconfigCredentials } from "../../internal/kube/access/kubeconfig.ts";
import { clusterControl, testCluster } from "../../test/support/cluster/cluster.ts";
import type { PartFound } from "./in-network.ts";
import { MEASURES, type Part } from "./parts.ts";

await runMain({ name: "bench:cluster part" }, async ({ argv, stdout, stderr, signal }) => {
  const [part = "", size = "", image = ""] = argv;
  const cluster = await testCluster("");
  if ("missing" in cluster) throw new DomainError("unavailable", cluster.missing);
  const access = await (await kubeconfigCredentials(cluster.kubeconfig)).access();
  const notes: string[] = [];
  const rows = await MEASURES[part as Part]({
    ...{ cluster, access, image, signal, stopScheduler },
    quick: size === "quick",
    say: (text) => void stderr.write(`${text}\n`),
    note: (text) => void notes.push(text),
  });
  stdout.write(JSON.stringify({ rows, notes } satisfies PartFound));
  return 0;
});

async function stopScheduler(): Promise<void> {
  const control = await clusterControl();
  if ("missing" in control) throw new DomainError("unavailable", control.missing);
  await control("stop", "scheduler");
}
