// Starts shells and sub-agents behind the turns of real agents and compares Status with the running tasks. `--help`
// lists the options.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quantile, sum } from "../../../bench/stats.ts";
import { DomainError } from "../../../internal/base/errors.ts";
import { parseFlags } from "../../../internal/cli/flags.ts";
import { runMain } from "../../../internal/cli/run-main.ts";
import { buildBinary } from "../../../scripts/build.ts";
import { type BehindFigures, runBehind } from "./play-behind.ts";
import { BEHIND_TARGETS, type BehindTarget } from "./scenes.ts";

const help = `Starts shells and sub-agents that outlive the turns of real agents, ends or kills them, and compares each Status (state
and background list) with what is running. Sends a message meanwhile. Exits 1 if a Status is wrong.

Usage: npm run lab:behind -- [flags]

  --agents LIST   agents (all): ${BEHIND_TARGETS.map(({ name }) => name).join(", ")}
  --runs N        runs of each agent (10)
  --lag MS        how long after a change Status may still report the previous state (3000)
  --seed N        seed of the scenes (1)
  --json FILE     writes each run, one per line
  --resume        continues the run of the same flags that is recorded in --json FILE

Examples:
  npm run lab:behind -- --agents claude-2.1.330 --runs 5
  npm run lab:behind -- --runs 100 --json behind.jsonl --resume
`;

const specs = {
  agents: { type: "list" },
  runs: { type: "number" },
  lag: { type: "number" },
  seed: { type: "number" },
  json: { type: "string" },
  resume: { type: "boolean" },
} as const;

await runMain({ name: "lab:behind" }, async ({ argv, stdout, stderr, signal }) => {
  const { ask, values } = parseFlags(specs, argv, {});
  if (ask !== undefined) {
    stdout.write(help);
    return 0;
  }
  const { runs = 10, lag = 3000, seed = 1, json, resume = false } = values;
  const names = values.agents?.flatMap((list) => list.split(",")) ?? BEHIND_TARGETS.map(({ name }) => name);
  const targets = names.map(targetNamed);
  const figures = resume && json !== undefined && existsSync(json) ? readRecord(json) : [];
  if (json !== undefined && figures.length === 0) writeFileSync(json, "");
  const dir = await mkdtemp(join(tmpdir(), "gt-behind-"));
  let troubles = 0;
  try {
    const sidecarProgram = await buildBinary("gt-sidecar", dir);
    for (const target of targets) {
      const onRun = (run: BehindFigures) => {
        figures.push(run);
        if (json !== undefined) appendFileSync(json, `${JSON.stringify(run)}\n`);
        stderr.write(`${new Date().toISOString()} ${run.target} ${run.index}, ${run.scene}: ${run.looks} looks\n`);
        for (const note of run.notes) stderr.write(`  ${note}\n`);
      };
      const onTrouble = (text: string) => {
        troubles++;
        stderr.write(`trouble, ${target.name}: ${text}\n`);
      };
      const from = Math.max(0, ...figures.filter((run) => run.target === target.name).map(({ index }) => index + 1));
      await runBehind(target, { seed, from, to: runs, lagMs: lag, sidecarProgram, signal, onRun, onTrouble });
    }
  } finally {
    await rm(dir, { recursive: true, force: true });
    for (const target of targets) stdout.write(`${lineOf(target, figures)}\n`);
  }
  return troubles > 0 || figures.some(({ notes }) => notes.length > 0) ? 1 : 0;
});

function targetNamed(name: string): BehindTarget {
  const found = BEHIND_TARGETS.find((target) => target.name === name);
  if (found === undefined) throw new DomainError("invalid", `--agents knows no "${name}"`);
  return found;
}

function readRecord(file: string): BehindFigures[] {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as BehindFigures);
}

function lineOf({ name }: BehindTarget, figures: readonly BehindFigures[]): string {
  const own = figures.filter(({ target }) => target === name);
  const wrong = own.filter(({ notes }) => notes.length > 0).length;
  const nudges = own.flatMap(({ nudgeMs }) => (nudgeMs > 0 ? [nudgeMs] : []));
  const slowest =
    nudges.length === 0 ? "" : `; nudges behind p50 ${quantile(nudges, 0.5)} ms, longest ${Math.max(...nudges)} ms`;
  return `${name}: ${own.length} runs, ${sum(own.map(({ looks }) => looks))} looks, ${wrong} runs wrong${slowest}`;
}
