import { writeFileSync } from "node:fs";
import { writeResults } from "../../../bench/report/results.ts";
import { runFacts, runLine, table } from "../../../bench/report/run-report.ts";
import { setup } from "../../support/build-programs.ts";
import { faultLine } from "./fault.ts";
import { sessionRows } from "./report.ts";
import { soakSessions } from "./soak-sessions.ts";

interface Streams {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  readonly signal: AbortSignal;
}

interface Values {
  readonly minutes?: number;
  readonly sessions?: number;
  readonly every?: number;
  readonly seed?: number;
  readonly json?: string;
  readonly write?: boolean;
}

/** Runs `soak --only sessions`; returns the exit code. */
export async function soakOfSessions(values: Values, { stdout, stderr, signal }: Streams): Promise<number> {
  const { minutes = 60, sessions = 100, every = 500, seed = 1, json } = values;
  const real = Math.round(sessions / 10);
  const demo = Math.round(sessions / 2);
  const size = { demo, terminals: sessions - demo - real, real };
  const facts = runFacts();
  const remove = await setup();
  try {
    const say = (text: string) => void stderr.write(`${new Date().toISOString()} ${text}\n`);
    const result = await soakSessions({ ms: minutes * 60_000, everyMs: every, seed, size, say }, signal);
    const rows = sessionRows(result);
    stdout.write(`${runLine(facts)}\n\n${table(rows)}\n`);
    for (const fault of result.faults) stdout.write(`${faultLine(fault)}\n`);
    const { samples, faults } = result;
    if (json !== undefined) writeFileSync(json, `${JSON.stringify({ rows, faults, samples }, undefined, 1)}\n`);
    if (values.write) {
      const notes = faults.length > 0 ? { notes: faults.map(faultLine) } : {};
      writeResults("sessions", { run: `${minutes} minutes; ${runLine(facts)}`, rows, ...notes });
    }
    return rows.every(({ aim }) => aim?.met !== false) ? 0 : 1;
  } finally {
    await remove();
  }
}
