// Runs the controller's soak in the network of a cluster that `run-controller.ts` has made; writes its result to
// stdout. Usage: soak-program.ts MINUTES SESSIONS SEED IMAGE.
import { DomainError } from "../../../internal/base/errors.ts";
import { runMain } from "../../../internal/cli/run-main.ts";
import { clusterControl, testCluster } from "../../support/cluster/cluster.ts";
import { soakController } from "./soak-controller.ts";

await runMain({ name: "soak of the controller" }, async ({ argv, stdout, stderr, signal }) => {
  const [minutes, sessions, seed, image = ""] = argv;
  const [cluster, control] = [await testCluster(""), await clusterControl()];
  if ("missing" in cluster) throw new DomainError("unavailable", cluster.missing);
  if ("missing" in control) throw new DomainError("unavailable", control.missing);
  const size = { ms: Number(minutes) * 60_000, sessions: Number(sessions), seed: Number(seed) };
  const say = (text: string) => void stderr.write(`${new Date().toISOString()} ${text}\n`);
  const found = await soakController({ cluster, control, image, say, ...size }, signal);
  stdout.write(JSON.stringify(found));
  return 0;
});
