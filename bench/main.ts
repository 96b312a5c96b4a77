// Measures the built sidecar, compared with other implementations of the same tasks. `--help` lists the options.
import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { runMain } from "../internal/cli/run-main.ts";
import { buildBinary } from "../scripts/build.ts";
import { measureAttach } from "./attach.ts";
import { measureBridge } from "./bridge/bridge.ts";
import type { BenchContext } from "./context.ts";
import { measureEvents } from "./events.ts";
import { measureWatchers } from "./fan-out.ts";
import { measureGt } from "./gt-start.ts";
import { measureNudge } from "./nudge.ts";
import { help, readOptions, type Section } from "./options.ts";
import { measureLatency, measureOutput } from "./output.ts";
import { measurePeek } from "./peek.ts";
import { measurePhase } from "./phase.ts";
import { measureRelay } from "./relay/relay.ts";
import { writeResults } from "./report/results.ts";
import { type Measured, rowOf } from "./report/row.ts";
import { runFacts, runLine, table } from "./report/run-report.ts";
import { measureStalled } from "./stalled.ts";
import { measureStart } from "./start.ts";
import { measureRevocation } from "./trust/revocation.ts";
import { measureTrust } from "./trust/trust.ts";

const MEASURES: Readonly<Record<Section, (context: BenchContext) => Promise<readonly Measured[]>>> = {
  start: measureStart,
  peek: measurePeek,
  output: measureOutput,
  latency: measureLatency,
  stalled: measureStalled,
  watchers: measureWatchers,
  nudge: measureNudge,
  attach: measureAttach,
  phase: measurePhase,
  events: measureEvents,
  trust: measureTrust,
  revocation: measureRevocation,
  bridge: measureBridge,
  relay: measureRelay,
  gt: measureGt,
};

await runMain({ name: "bench" }, async ({ argv, stdout, stderr, signal }) => {
  const options = readOptions(argv);
  if (options === "help") {
    stdout.write(help);
    return 0;
  }
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), "gt-bench-"));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const facts = runFacts();
  const notes: string[] = [];
  const say = (text: string) => void stderr.write(`${text}\n`);
  const { profileDir, quick } = options;
  const env: Record<string, string> =
    profileDir === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${resolve(profileDir)}` };
  const program = await buildBinary("gt-sidecar", dir);
  const context: BenchContext = { signal, quick, program, env, say, note: (text) => void notes.push(text) };
  const run = `${runLine(facts)}${quick ? "; --quick" : ""}`;
  const rows: Measured[] = [];
  for (const section of options.only) {
    signal.throwIfAborted();
    const known = notes.length;
    const found = await MEASURES[section](context);
    rows.push(...found);
    if (options.write) writeResults(section, { run, rows: found, notes: notes.slice(known) });
  }
  stdout.write(`${run}\n\n${table(rows)}\n${notes.map((note) => `\n${note}\n`).join("")}`);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(rows.map(rowOf), null, 2)}\n`);
  return 0;
});
