import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeResults } from "../../../bench/report/results.ts";
import { runFacts, runLine, table } from "../../../bench/report/run-report.ts";
import { buildBinary } from "../../../scripts/build.ts";
import { streamRows } from "./report.ts";
import { soakStreams } from "./streams.ts";

interface Streams {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  readonly signal: AbortSignal;
}

interface Values {
  readonly minutes?: number;
  readonly cuts?: number;
  readonly every?: number;
  readonly seed?: number;
  readonly json?: string;
  readonly write?: boolean;
}

/** Runs `soak --only streams`; returns the exit code. */
export async function soakOfStreams(values: Values, { stdout, stderr, signal }: Streams): Promise<number> {
  const { minutes = 60, cuts = Number.POSITIVE_INFINITY, every = 1000, seed = 1, json } = values;
  const dir = await mkdtemp(join(tmpdir(), "gt-soak-"));
  try {
    const facts = runFacts();
    const program = await buildBinary("gt-sidecar", dir);
    const say = (text: string) => void stderr.write(`${new Date().toISOString()} ${text}\n`);
    const options = { ms: minutes * 60_000, cuts, everyMs: every, seed, program, say, samples: json };
    const result = await soakStreams(options, signal);
    const rows = streamRows(result);
    stdout.write(`${runLine(facts)}\n\n${table(rows)}\n`);
    if (values.write) writeResults("streams", { run: `${minutes} minutes; ${runLine(facts)}`, rows });
    for (const fault of result.faults) stdout.write(`${fault}\n`);
    return result.faults.length > 0 ? 1 : 0;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
