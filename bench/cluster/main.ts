// Measures the controller on a real API server. `--help` says what can be chosen.
import { writeFileSync } from "node:fs";
import { DomainError } from "../../internal/base/errors.ts";
import { parseFlags } from "../../internal/cli/flags.ts";
import { runMain } from "../../internal/cli/run-main.ts";
import { kubeconfigCredentials } from "../../internal/kube/access/kubeconfig.ts";
import { setup as buildPrograms } from "../../test/support/build-programs.ts";
import { testCluster } from "../../test/support/cluster/cluster.ts";
import { writeResults } from "../report/results.ts";
import { type Measured, rowOf } from "../report/row.ts";
import { runFacts, runLine, table } from "../report/run-report.ts";
import type { ClusterBench } from "./cluster-bench.ts";
import { measureHop } from "./hop.ts";
import { measureInformer } from "./informer.ts";
import { measureLoad } from "./load.ts";
import { measurePods } from "./pods.ts";
import { measureRolling } from "./rolling.ts";
import { measureSidecars } from "./sidecars.ts";
import { measureStarts } from "./starts.ts";

const MEASURES = {
  informer: measureInformer,
  pods: measurePods,
  rolling: measureRolling,
  starts: measureStarts,
  hop: measureHop,
  load: measureLoad,
  sidecars: measureSidecars,
} as const;
type Part = keyof typeof MEASURES;
const PARTS = Object.keys(MEASURES) as Part[];

const HELP = `Measures the controller on its own API server (etcd, API server, controller-manager, scheduler; a node only for load).

Usage: npm run bench:cluster -- [flags]

  --only LIST      ${PARTS.join(", ")} (all)
  --quick          fewer and smaller measurements
  --json FILE      writes the rows: name, value, unit, baseline, ratio (value / baseline)
  --write          stores the rows in bench/results and regenerates bench/RESULTS.md
`;

const specs = {
  only: { type: "list" },
  quick: { type: "boolean" },
  json: { type: "string" },
  write: { type: "boolean" },
} as const;

await runMain({ name: "bench:cluster" }, async ({ argv, stdout, stderr, signal }) => {
  const { ask, values } = parseFlags(specs, argv, {});
  if (ask !== undefined) {
    stdout.write(HELP);
    return 0;
  }
  const parts = (values.only ?? PARTS).flatMap((list) => list.split(",")).map(partNamed);
  const run = `${runLine(runFacts())}${values.quick === true ? "; --quick" : ""}`;
  const notes: string[] = [];
  const rows: Measured[] = [];
  await using programs = new AsyncDisposableStack();
  programs.defer(await buildPrograms());
  for (const part of parts) {
    // Each has a cluster of its own, so that the ten thousand pods of one do not slow down the others.
    await using stack = new AsyncDisposableStack();
    const name = `gt-bench-${process.pid}`;
    const cluster = await testCluster(name, part === "load" ? "one" : "none");
    if ("missing" in cluster) throw new DomainError("unavailable", cluster.missing);
    stack.use(cluster);
    const access = await (await kubeconfigCredentials(cluster.kubeconfig)).access();
    const bench: ClusterBench = {
      cluster,
      name,
      access,
      quick: values.quick ?? false,
      signal,
      say: (text) => void stderr.write(`${text}\n`),
      note: (text) => void notes.push(text),
    };
    const known = notes.length;
    const found = await MEASURES[part](bench);
    rows.push(...found);
    if (values.write) writeResults(part, { run, rows: found, notes: notes.slice(known) });
  }
  stdout.write(`${run}\n\n${table(rows)}\n${notes.map((note) => `\n${note}\n`).join("")}`);
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(rows.map(rowOf), null, 2)}\n`);
  return 0;
});

function partNamed(name: string): Part {
  const found = PARTS.find((part) => part === name);
  if (found === undefined) throw new DomainError("invalid", `--only takes ${PARTS.join(", ")}, not "${name}"`);
  return found;
}
