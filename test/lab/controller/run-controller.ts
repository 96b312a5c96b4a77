import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeResults } from "../../../bench/report/results.ts";
import { type Measured, measured } from "../../../bench/report/row.ts";
import { runFacts, runLine, table } from "../../../bench/report/run-report.ts";
import { DomainError } from "../../../internal/base/errors.ts";
import { setup as buildPrograms } from "../../support/build-programs.ts";
import { testCluster } from "../../support/cluster/cluster.ts";
import { demoImage } from "../../support/cluster/demo-image.ts";
import { runInNetwork } from "../../support/cluster/run-in-network.ts";
import { growthRow } from "../growth.ts";
import type { ControllerSoakResult, ReplicaSample } from "./soak-controller.ts";

interface Streams {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  readonly signal: AbortSignal;
}

interface Values {
  readonly minutes?: number;
  readonly sessions?: number;
  readonly seed?: number;
  readonly json?: string;
  readonly write?: boolean;
}

/** Runs `soak --only controller`; returns the exit code. */
export async function soakOfController(values: Values, { stdout, stderr, signal }: Streams): Promise<number> {
  const { minutes = 60, sessions = 8, seed = 1, json } = values;
  await using stack = new AsyncDisposableStack();
  stack.defer(await buildPrograms());
  const facts = runFacts();
  const name = `gt-soak-${process.pid}`;
  const cluster = await testCluster(name);
  if ("missing" in cluster) throw new DomainError("unavailable", cluster.missing);
  stack.use(cluster);
  const image = await demoImage(cluster);
  const program = join(import.meta.dirname, "soak-program.ts");
  const command = [program, `${minutes}`, `${sessions}`, `${seed}`, image];
  const say = (text: string) => void stderr.write(`${text}\n`);
  const result = (await runInNetwork(name, command, say, signal)) as ControllerSoakResult;
  const rows = controllerRows(result);
  stdout.write(`${runLine(facts)}\n\n${table(rows)}\n`);
  for (const fault of result.faults) stdout.write(`${fault}\n`);
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(result, null, 2)}\n`);
  if (values.write)
    writeResults("controller", {
      run: `${minutes} minutes, seed ${seed}; ${runLine(facts)}`,
      rows,
      notes: result.faults,
    });
  return rows.every(({ aim }) => aim?.met !== false) ? 0 : 1;
}

function controllerRows({ faults, done, samples, counts, outcomes }: ControllerSoakResult): readonly Measured[] {
  const name = (what: string) => `soak, controller: ${what}`;
  return [
    measured(name("lost, doubled, wrong, unreported or left behind"), faults.length, "faults", { atMost: 0 }),
    measured(name("sessions that ran"), counts.sessions, "sessions"),
    measured(name("messages"), counts.messages, "messages"),
    ...Object.entries(outcomes).map(([outcome, times]) => measured(name(`outcome ${outcome}`), times, "messages")),
    measured(name("peeks"), counts.peeks, "times"),
    measured(name("events"), counts.events, "events"),
    measured(name("gaps named"), counts.gaps, "gaps"),
    measured(name("readers who came back"), counts.returns, "times"),
    ...Object.entries(done).map(([what, times]) => measured(name(what), times, "times")),
    ...(samples.length < 6 ? [] : growth(samples, name)),
  ];
}

function growth(samples: readonly ReplicaSample[], name: (what: string) => string): readonly Measured[] {
  const of = (what: string) => name(`${what} of the replica that is never ended`);
  const [memory, open] = [samples.map((one) => one.anonymousMiB), samples.map(({ descriptors }) => descriptors)];
  return [
    growthRow(of("memory"), "MiB", memory, { ratioAtMost: 1.1 }),
    growthRow(of("descriptors"), "open", open, { ratioAtMost: 1.2 }),
  ];
}
