// Sends messages to real agents and test programs and compares each receipt with what arrived. `--help` lists the
// options.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeResults } from "../../../bench/report/results.ts";
import { runFacts } from "../../../bench/report/run-report.ts";
import { seeded } from "../../../bench/stats.ts";
import { runMain } from "../../../internal/cli/run-main.ts";
import { buildBinary } from "../../../scripts/build.ts";
import { type CrashFigures, type CrashOptions, crashEverything, crashServingHalf } from "./crash.ts";
import { runCrowd } from "./crowd.ts";
import { type FreezeFigures, runFreezes } from "./freeze.ts";
import { type LineFigures, runLines } from "./lines.ts";
import { help, type LabOptions, readOptions } from "./options.ts";
import { type LabEvent, LabRecord, readRecords } from "./record.ts";
import { reportOf, textOf } from "./report.ts";
import { runTarget } from "./run-target.ts";
import { MODES, PATIENT_MODES, type Sample } from "./send.ts";
import type { Target } from "./targets.ts";

/** The shares of the time: real agents are slower, and matter more. */
const SHARES = { real: 6, demo: 1, tui: 1 } as const;

/** The number of kills after which the agent and its sidecar are started again. */
const KILLS_PER_LIFE = 25;

type Say = (text: string) => void;

await runMain({ name: "lab" }, async ({ argv, stdout, stderr, signal }) => {
  const options = readOptions(argv);
  if (options === "help") {
    stdout.write(help);
    return 0;
  }
  const say: Say = (text) => void stderr.write(`${text}\n`);
  const events = options.merge === undefined ? await runLab(options, signal, say) : readRecords(options.merge);
  const report = reportOf(events);
  stdout.write(`${textOf(report)}\n`);
  if (options.write) writeResults("lab", report);
  return events.every(isTrue) ? 0 : 1;
});

function isTrue(event: LabEvent): boolean {
  if (event.type === "sample") return event.sample.faults.length === 0;
  return !("figures" in event) || event.figures.notes.length === 0;
}

async function runLab(options: LabOptions, signal: AbortSignal, say: Say): Promise<readonly LabEvent[]> {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), "gt-lab-"));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const program = await buildBinary("gt-sidecar", dir);
  const record = new LabRecord(options.json, options.resume);
  record.add({ type: "run", facts: runFacts(), seed: options.seed });
  await runSends(options, program, record, signal, say);
  await runScenes(options, program, record, signal, say);
  await runCrowds(options, program, record, signal, say);
  await runCrashes(options, program, record, signal, say);
  return record.events;
}

async function runSends(options: LabOptions, program: string, record: LabRecord, signal: AbortSignal, say: Say) {
  const { seed, only, patient, sends, life } = options;
  const targets: Target[] = [];
  for (const target of sends > 0 ? options.targets : []) {
    const text = await target.missing();
    if (text === undefined) targets.push(target);
    else record.add({ type: "missing", target: target.name, text });
  }
  const shares = targets.reduce((sum, target) => sum + SHARES[target.kind], 0);
  const shareMs = (options.seconds * 1000 * Math.min(options.parallel, targets.length)) / shares;
  await inParallel(targets, options.parallel, async (target) => {
    const onSample = (sample: Sample) => {
      record.add({ type: "sample", sample });
      tell(sample, say);
    };
    const onTrouble = (text: string) => {
      record.add({ type: "trouble", target: target.name, text });
      say(`trouble, ${target.name}: ${text}`);
    };
    const onStart = () => record.add({ type: "start", target: target.name });
    const until = Date.now() + shareMs * SHARES[target.kind];
    const done = record.events.filter((event) => event.type === "sample" && event.sample.target === target.name).length;
    const random = seeded(seed + hashOf(target.name) + done);
    await runTarget(target, {
      sends: sends - done,
      life,
      until,
      only,
      modes: patient ? PATIENT_MODES : MODES,
      random,
      sidecarProgram: program,
      signal,
      onStart,
      onSample,
      onTrouble,
    });
    say(`done: ${target.name}`);
  });
}

/** Runs the freezes and lines of each agent whose composer can be read, continuing after those of an earlier run. */
async function runScenes(
  options: LabOptions,
  sidecarProgram: string,
  record: LabRecord,
  signal: AbortSignal,
  say: Say,
) {
  const { seed, targets, freezes, lines, life } = options;
  for (const target of targets.filter(({ kind, fatal }) => kind !== "tui" && fatal === undefined)) {
    if (freezes + lines === 0 || (await target.missing()) !== undefined) continue;
    const common = { seed, sidecarProgram, signal };
    const ends = record.events.flatMap((event) => {
      if ((event.type !== "freeze" && event.type !== "lines") || event.figures.target !== target.name) return [];
      return [{ type: event.type, to: event.type === "lines" ? event.figures.to : event.figures.index + 1 }];
    });
    const doneOf = (type: string) => Math.max(0, ...ends.filter((end) => end.type === type).map(({ to }) => to));
    const add = (event: LabEvent & { readonly type: "freeze" | "lines" }) => {
      record.add(event);
      for (const note of event.figures.notes) say(`${event.type}, ${target.name}: ${note}`);
    };
    const onLines = (figures: LineFigures) => add({ type: "lines", figures });
    const onFreeze = (figures: FreezeFigures) => add({ type: "freeze", figures });
    await runLines(target, { ...common, from: doneOf("lines"), to: lines, onLines });
    const onTrouble = (text: string) => {
      record.add({ type: "trouble", target: target.name, text });
      say(`trouble, ${target.name}: ${text}`);
    };
    const perLife = life === undefined ? {} : { life };
    await runFreezes(target, { ...common, ...perLife, from: doneOf("freeze"), to: freezes, onFreeze, onTrouble });
  }
}

async function runCrashes(
  options: LabOptions,
  sidecarProgram: string,
  record: LabRecord,
  signal: AbortSignal,
  say: Say,
) {
  const random = seeded(options.seed);
  const inBatches = async (kills: number, crash: (plan: CrashOptions) => Promise<CrashFigures>) => {
    for (let left = kills; left > 0; left -= KILLS_PER_LIFE) {
      const figures = await crash({ kills: Math.min(left, KILLS_PER_LIFE), random, sidecarProgram, signal });
      record.add({ type: "crash", figures });
      for (const note of figures.notes) say(note);
    }
  };
  for (const target of options.crashes > 0 ? options.crashTargets : []) {
    say(`killing the serving half: ${target.name}`);
    await inBatches(options.crashes, (plan) => crashServingHalf(target, plan));
  }
  if (options.treeCrashes > 0) say("killing everything");
  await inBatches(options.treeCrashes, crashEverything);
}

async function runCrowds(
  options: LabOptions,
  sidecarProgram: string,
  record: LabRecord,
  signal: AbortSignal,
  say: Say,
) {
  const { crowd: callers, targets } = options;
  for (const target of callers > 0 ? targets.filter(({ kind, fatal }) => kind !== "tui" && fatal === undefined) : []) {
    if ((await target.missing()) !== undefined) continue;
    for (const mode of ["wait-idle", "immediate"] as const) {
      say(`${callers} callers at once, ${mode}: ${target.name}`);
      const figures = await runCrowd(target, { callers, mode, sidecarProgram, signal });
      record.add({ type: "crowd", figures });
      for (const note of figures.notes) say(note);
    }
  }
}

/** Prints false receipts at once: a long run shows its findings while it continues. */
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
