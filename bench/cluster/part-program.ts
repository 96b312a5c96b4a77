// One part of `bench:cluster`, in the network of a cluster that `main.ts` has made; writes what it found to stdout.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { DomainError } from "../../internal/base/errors.ts";
import { runMain } from "../../internal/cli/run-main.ts";
import { kubeconfigCredentials } from "../../internal/kube/access/kubeconfig.ts";
import { testCluster } from "../../test/support/cluster/cluster.ts";
import { component } from "../../test/support/cluster/components.ts";
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
  const tool = await component("cluster");
  if ("missing" in tool) throw new DomainError("unavailable", tool.missing);
  await promisify(execFile)(tool.path, ["stop", "scheduler"]);
}
