// Attacks threads for a given time, and prints the results.
//
//   npm run lab:threads -- --seconds 120 --agents 4 --real claude --only writes --only wakes --write
//   npm run lab:threads -- --review --seconds 1800 --write
//
// --review: Claude Code reviews, Codex and OpenCode fix, cycle after cycle; nothing else runs.

import { writeResults } from "../../../bench/report/results.ts";
import { type Measured, measured } from "../../../bench/report/row.ts";
import { runFacts, runLine, table } from "../../../bench/report/run-report.ts";
import { parseFlags } from "../../../internal/cli/flags.ts";
import { randomFrom } from "../../fuzz/random.ts";
import type { AgentProgram } from "../../support/agents/agents-install.ts";
import { measureLatency } from "./latency.ts";
import { REAL_PROGRAMS } from "./real-target.ts";
import { reviewWhileKilling } from "./review.ts";
import { reviewRows } from "./review-report.ts";
import { wakeWhileKilling } from "./wakes.ts";
import { writeWhileKilling } from "./writes.ts";

const PARTS: readonly string[] = ["writes", "wakes", "latency"];
const ROUNDS = 200;
const KILL_EVERY_MS = 3000;
/** A cycle takes some 5 s, so most cycles meet a kill. */
const REVIEW_KILL_MS = 15_000;

const { values } = parseFlags(
  {
    seconds: { type: "number" },
    agents: { type: "number" },
    real: { type: "list" },
    seed: { type: "number" },
    only: { type: "list" },
    write: { type: "boolean" },
    review: { type: "boolean" },
  },
  process.argv.slice(2),
  {},
);
const { seconds = 60, agents = 3, seed = 1, write = false, review = false } = values;
const { only = review ? [] : PARTS, real: names = ["claude"] } = values;
const strange = only.find((part) => !PARTS.includes(part));
if (strange !== undefined) throw new Error(`--only ${strange}: expected ${PARTS.join(", ")}`);
const real = names.map(programOf);
const random = randomFrom(seed);
const facts = runFacts();
const rows: Measured[] = [];
const none = { atMost: 0 };

if (review) {
  const fixers = ["codex", "opencode"];
  rows.push(...reviewRows(await reviewWhileKilling({ seconds, fixers, random, pauseMs: REVIEW_KILL_MS, calm: 4 })));
}
if (only.includes("writes")) {
  const found = await writeWhileKilling({ seconds, random, pauseMs: KILL_EVERY_MS });
  const { kills, acknowledged, retries, duplicates, lost, doubled, gaps, verified } = found;
  rows.push(
    measured("writes: acknowledged and lost", lost, "messages", none),
    measured("writes: stored twice", doubled, "messages", none),
    measured("writes: threads with a gap", gaps, "threads", none),
    measured("writes: chains of hashes that are broken", verified ? 0 : 1, "chains", none),
    measured("writes: acknowledged", acknowledged, "messages"),
    measured("writes: asked for again with the same key", retries, "calls"),
    measured("writes: stored although the first answer was lost", duplicates, "messages"),
    measured("writes: servers killed", kills.server, "kills"),
    measured("writes: PostgreSQL killed", kills.postgres, "kills"),
  );
}
if (only.includes("wakes")) {
  const found = await wakeWhileKilling({ seconds, agents, real, random, pauseMs: KILL_EVERY_MS, everyMs: 1500 });
  const { kills, messages, wakes, typed, typedToReal, unknown, lost, doubled } = found;
  const wrong = lost + doubled + found.false;
  rows.push(
    measured("wakes: messages lost", lost, "messages", none),
    measured("wakes: texts typed twice", doubled, "texts", none),
    measured("wakes: receipts that are false", found.false, "receipts", none),
    measured("wakes: texts that agents took", typed, "texts"),
    measured(`wakes: of these, texts that ${names.join(", ")} took`, typedToReal, "texts"),
    measured("wakes: messages", messages, "messages"),
    measured("wakes: wakes", wakes, "wakes"),
    measured("wakes: UNKNOWN, which claims nothing", unknown, "texts"),
    measured("wakes: servers killed", kills.server, "kills"),
    measured("wakes: PostgreSQL killed", kills.postgres, "kills"),
    measured("wakes: serving halves killed", kills.serving, "kills"),
  );
  // The rule of three: with no failure in n, the share is below 3/n with 95 % confidence.
  if (wrong === 0 && typed > 0) rows.push(measured("wakes: wrong, 95 % bound", 300 / typed, "%"));
}
if (only.includes("latency")) {
  const calm = await wakeWhileKilling({ seconds, agents, random, pauseMs: 0, everyMs: 3000 });
  const { same, other, posted } = await measureLatency(ROUNDS);
  rows.push(
    measured("commit to the nudge's beginning, idle agent, p95", at(calm.dispatchMs, 0.95), "ms", { atMost: 1000 }),
    measured("commit to the nudge's beginning, idle agent, p99", at(calm.dispatchMs, 0.99), "ms", { atMost: 3000 }),
    measured("post to a waiter at the same server, p50", at(same, 0.5), "ms", { atMost: 25 }),
    measured("post to a waiter at the same server, p95", at(same, 0.95), "ms", { atMost: 100 }),
    measured("post to a waiter at the other server, p95", at(other, 0.95), "ms", { atMost: 200 }),
    measured("post to its answer, p50", at(posted, 0.5), "ms"),
  );
}
process.stdout.write(`${table(rows)}\n`);
if (write)
  writeResults(review ? "threads-review" : "threads", {
    run: `${seconds} s each, seed ${seed}; ${runLine(facts)}`,
    rows,
  });
process.exitCode = rows.every((row) => row.aim?.met !== false) ? 0 : 1;

/** @throws an Error that lists the names */
function programOf(name: string): AgentProgram {
  const program = REAL_PROGRAMS[name];
  if (program === undefined) throw new Error(`--real ${name}: expected ${Object.keys(REAL_PROGRAMS).join(", ")}`);
  return program;
}

/** The quantile of sorted values; NaN without values. */
function at(values: readonly number[], share: number): number {
  return values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN;
}
