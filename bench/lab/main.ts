// Sends messages to real agents and test programs and compares each receipt with what arrived. `--help` says what can be chosen.
import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runMain } from "../../internal/cli/run-main.ts";
import { buildBinary } from "../../scripts/build.ts";
import { runFacts } from "../report.ts";
import { seeded } from "../stats.ts";
import { type CrashFigures, crashEverything, crashServingHalf } from "./crash.ts";
import { help, type LabOptions, readOptions } from "./options.ts";
import { type LabResult, reportOf, writeReport } from "./report.ts";
import { runTarget } from "./run-target.ts";
import type { Sample } from "./send.ts";
import type { Target } from "./targets.ts";

/** How the time is shared out: real agents are slower, and matter more. */
const SHARES = { real: 6, demo: 1, tui: 1 } as const;

type Say = (text: string) => void;

await runMain({ name: "lab" }, async ({ argv, stdout, stderr, signal }) => {
  const options = readOptions(argv);
  if (options === "help") {
    stdout.write(help);
    return 0;
  }
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), "gt-lab-"));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const program = await buildBinary("gt-sidecar", dir);
  const say: Say = (text) => void stderr.write(`${text}\n`);
  const result = await runLab(options, program, signal, say);
  const report = reportOf(result);
  stdout.write(`${report}\n`);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(result, null, 2)}\n`);
  if (options.write) writeReport(report);
  const isTrue = result.samples.every((sample) => sample.faults.length === 0);
  return isTrue && result.crashes.every((row) => row.notes.length === 0) ? 0 : 1;
});

async function runLab(options: LabOptions, program: string, signal: AbortSignal, say: Say): Promise<LabResult> {
  const { seed, only } = options;
  const facts = runFacts();
  const samples: Sample[] = [];
  const troubles: string[] = [];
  const missing: string[] = [];
  const targets: Target[] = [];
  for (const target of options.sends > 0 ? options.targets : []) {
    const why = await target.missing();
    if (why === undefined) targets.push(target);
    else missing.push(`${target.name} (${why})`);
  }
  const shares = targets.reduce((sum, target) => sum + SHARES[target.kind], 0);
  const shareMs = (options.seconds * 1000 * Math.min(options.parallel, targets.length)) / shares;
  await inParallel(targets, options.parallel, async (target) => {
    const onSample = (sample: Sample) => {
      samples.push(sample);
      tell(sample, say);
    };
    const onTrouble = (name: string, text: string) => {
      troubles.push(`${name}: ${text}`);
      say(`trouble, ${name}: ${text}`);
    };
    const until = Date.now() + shareMs * SHARES[target.kind];
    const random = seeded(seed + hashOf(target.name));
    const run = { sends: options.sends, until, only, random, sidecarProgram: program, signal, onSample, onTrouble };
    await runTarget(target, run);
    say(`done: ${target.name}`);
  });
  const crashes = await runCrashes(options, program, signal, say);
  return { facts, seed, samples, troubles, missing, crashes };
}

async function runCrashes(options: LabOptions, sidecarProgram: string, signal: AbortSignal, say: Say) {
  const crashes: CrashFigures[] = [];
  const plan = (kills: number) => ({ kills, random: seeded(options.seed), sidecarProgram, signal });
  for (const target of options.crashes > 0 ? options.crashTargets : []) {
    say(`killing the serving half: ${target.name}`);
    crashes.push(await crashServingHalf(target, plan(options.crashes)));
  }
  if (options.treeCrashes > 0) {
    say("killing everything");
    crashes.push(await crashEverything(plan(options.treeCrashes)));
  }
  for (const note of crashes.flatMap((row) => row.notes)) say(note);
  return crashes;
}

/** Tells what was not true at once: a long run shows its findings while it goes on. */
function tell({ target, state, kind, mode, told, error, arrived, ms, faults }: Sample, say: Say): void {
  const words = `${target} | ${state} | ${kind} | ${mode}: ${told}${error && ` (${error})`}, ${arrived}, ${ms.toFixed(0)} ms`;
  const isOdd = faults.length > 0 || told === "unknown" || told === "stranded";
  if (isOdd) say([words, ...faults.map((fault) => `  ${fault.kind}: ${fault.why}`)].join("\n"));
}

async function inParallel<T>(items: readonly T[], lanes: number, work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const lane = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: Math.max(1, lanes) }, lane));
}

function hashOf(text: string): number {
  return [...text].reduce((hash, letter) => (Math.imul(hash, 31) + (letter.codePointAt(0) ?? 0)) >>> 0, 7);
}
