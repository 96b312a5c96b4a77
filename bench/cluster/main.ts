// Measures the controller on a real API server. `--help` lists the options.
import { writeFile } from "node:fs/promises";
import { DomainError } from "../../internal/base/errors.ts";
import { parseFlags } from "../../internal/cli/flags.ts";
import { runMain } from "../../internal/cli/run-main.ts";
import { setup as buildPrograms } from "../../test/support/build-programs.ts";
import { testCluster } from "../../test/support/cluster/cluster.ts";
import { demoImage } from "../../test/support/cluster/demo-image.ts";
import { writeResults } from "../report/results.ts";
import { type Measured, rowOf } from "../report/row.ts";
import { runFacts, runLine, table } from "../report/run-report.ts";
import { measureInNetwork } from "./in-network.ts";
import { PARTS, type Part } from "./parts.ts";

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
    // Each part has its own cluster, so that the ten thousand pods of one do not slow down the others.
    await using stack = new AsyncDisposableStack();
    const name = `gt-bench-${process.pid}`;
    const cluster = await testCluster(name, part === "load" ? "one" : "none");
    if ("missing" in cluster) throw new DomainError("unavailable", cluster.missing);
    stack.use(cluster);
    const image = part === "load" ? await demoImage(cluster) : "";
    const say = (text: string) => void stderr.write(`${text}\n`);
    const found = await measureInNetwork(part, { name, quick: values.quick ?? false, image }, say, signal);
    rows.push(...found.rows);
    notes.push(...found.notes);
    if (values.write) writeResults(part, { run, ...found });
  }
  stdout.write(`${run}\n\n${table(rows)}\n${notes.map((note) => `\n${note}\n`).join("")}`);
  if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(rows.map(rowOf), null, 2)}\n`);
  return 0;
});

function partNamed(name: string): Part {
  const found = PARTS.find((part) => part === name);
  if (found === undefined) throw new DomainError("invalid", `--only takes ${PARTS.join(", ")}, not "${name}"`);
  return found;
}
