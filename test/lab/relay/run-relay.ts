import { writeFileSync } from "node:fs";
import { writeResults } from "../../../bench/report/results.ts";
import { type Measured, measured } from "../../../bench/report/row.ts";
import { runFacts, runLine, table } from "../../../bench/report/run-report.ts";
import { DomainError } from "../../../internal/base/errors.ts";
import { setup as buildPrograms } from "../../support/build-programs.ts";
import { component } from "../../support/cluster/components.ts";
import { type RelaySoakResult, soakRelay } from "./soak-relay.ts";

interface Streams {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  readonly signal: AbortSignal;
}

interface Values {
  readonly works?: number;
  readonly sessions?: number;
  readonly every?: number;
  readonly seed?: number;
  readonly json?: string;
  readonly write?: boolean;
}

/** Runs `soak --only relay`; returns the exit code. */
export async function soakOfRelay(values: Values, { stdout, stderr, signal }: Streams): Promise<number> {
  const { works = 2000, sessions = 20, every: everyMs = 500, seed = 1, json } = values;
  await using stack = new AsyncDisposableStack();
  stack.defer(await buildPrograms());
  const nats = await component("nats-server");
  if ("missing" in nats) throw new DomainError("unavailable", nats.missing);
  const facts = runFacts();
  const say = (text: string) => void stderr.write(`${new Date().toISOString()} ${text}\n`);
  const result = await soakRelay({ nats: nats.path, works, sessions, seed, everyMs, say }, signal);
  const rows = relayRows(result);
  const { lost, doubled, mixed, untrue } = result.verdict;
  stdout.write(`${runLine(facts)}\n\n${table(rows)}\n`);
  for (const fault of [...lost, ...doubled, ...mixed, ...untrue]) stdout.write(`${fault}\n`);
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(result, null, 2)}\n`);
  if (values.write) writeResults("relay-soak", { run: `seed ${seed}; ${runLine(facts)}`, rows });
  return rows.every(({ aim }) => aim?.met !== false) ? 0 : 1;
}

function relayRows({ verdict, works, faults, requests, again, waiting }: RelaySoakResult): readonly Measured[] {
  const { lost, doubled, mixed, untrue, uncertain, successes } = verdict;
  const wrong = lost.length + doubled.length + mixed.length + untrue.length;
  const done = Object.values(faults).reduce((sum, count) => sum + count, 0);
  const name = (what: string) => `soak, relay: ${what}`;
  return [
    measured(name(`lost, doubled, mixed or untrue, of ${works} works under ${done} faults`), wrong, "works", {
      atMost: 0,
    }),
    // With no failure in n, the true share is below 3/n with 95 % confidence.
    measured(name("bound of that share, 95 %"), (300 * (wrong + 1)) / works, "%"),
    measured(name("successes"), successes, "works"),
    measured(name("uncertain, or tried too often, and said so"), uncertain, "works"),
    measured(name("requests and prompts"), requests, "times"),
    measured(name("published twice"), again, "works"),
    measured(name("left in the work stream"), waiting, "works", { atMost: 0 }),
    ...Object.entries(faults).map(([what, times]) => measured(name(what), times, "times")),
  ];
}
