// Attacks a desk for a given time, and prints the results.
//
//   npm run lab:desk -- --seconds 60 --count 40 --lines 500 --turns 20 --write

import { writeResults } from "../../../bench/report/results.ts";
import { type Measured, measured } from "../../../bench/report/row.ts";
import { runFacts, runLine, table } from "../../../bench/report/run-report.ts";
import { parseFlags } from "../../../internal/cli/flags.ts";
import { randomFrom } from "../../fuzz/random.ts";
import { ENCODING_COUNT } from "../../support/desk/encodings.ts";
import { isSandboxUsable } from "../../support/desk/sandbox-usable.ts";
import { type HostileFigures, runHostileAgents } from "./hostile-agents.ts";
import { killWhileCrossing } from "./kills.ts";
import { measureLatency } from "./latency.ts";
import { raceReads } from "./races.ts";
import { runTwins } from "./twins.ts";

const STARTS = 20;

const { values } = parseFlags(
  {
    ...{ seconds: { type: "number" }, count: { type: "number" }, lines: { type: "number" }, seed: { type: "number" } },
    ...{ turns: { type: "number" }, write: { type: "boolean" } },
  },
  process.argv.slice(2),
  {},
);
const { seconds = 30, count = 20, lines = 200, turns = 5, seed = 1 } = values;
const facts = runFacts();

const latency = await measureLatency(STARTS);
const end = performance.now() + seconds * 1000;
const races = raceReads(() => performance.now() > end);
const kills = await killWhileCrossing(count, randomFrom(seed));
const twins = await runTwins(lines, randomFrom(seed));
const hostile = isSandboxUsable("hostile models of real agents") ? await runHostileAgents(turns) : undefined;
for (const wrong of [...kills.wrong, ...twins.leaks, ...(hostile?.leaks ?? [])]) process.stderr.write(`${wrong}\n`);

const rows: readonly Measured[] = [
  measured("desk: start to the first event, probe included, p50", latency.startMs, "ms", { atMost: 1500 }),
  measured("desk: start to the first event, the front's start included, p50", latency.coldStartMs, "ms", {
    atMost: 1500,
  }),
  measured("desk: from typing to the front's journal, p50", latency.crossingMs, "ms", { atMost: 20 }),
  measured(`desk: secrets leaked in a race, beside ${races.good} good reads`, races.leaked, "secrets", {
    ...{ baseline: races.leakedByPath, atMost: 0 },
  }),
  measured(
    `desk: ${kills.texts} texts, ${kills.kills} kills: doubled, lost or falsely reported`,
    kills.wrong.length,
    "texts",
    {
      atMost: 0,
    },
  ),
  measured(
    `desk: canaries in ${ENCODING_COUNT} encodings, ${twins.refusedReads} refused reads`,
    twins.leaks.length,
    "canaries",
    {
      atMost: 0,
    },
  ),
  ...hostileRows(hostile),
  measured(
    `desk: twins that differ, ${twins.lines} lines, ${twins.crossings} crossings`,
    twins.areEqual ? 0 : 1,
    "twins",
    {
      atMost: 0,
    },
  ),
];
process.stdout.write(`${table(rows)}\n`);
if (values.write) {
  const about = `races for ${seconds} s; the baseline of the race: secrets leaked by reads of the resolved path`;
  writeResults("desk", { run: runLine(facts), rows, notes: [about] });
}
process.exitCode = rows.every(({ aim }) => aim?.met !== false) ? 0 : 1;

function hostileRows(hostile: HostileFigures | undefined): readonly Measured[] {
  if (hostile === undefined) return [];
  const name = `desk: canaries in ${ENCODING_COUNT} encodings, ${hostile.attempts} calls of hostile models in three agents`;
  return [measured(name, hostile.leaks.length, "canaries", { atMost: 0 })];
}
