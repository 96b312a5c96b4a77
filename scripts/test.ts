// Runs everything that CI runs, with all set-up: tmux, the agent programs of the tests, the checks, and all tests.
//
//   npm test                   everything; the last line is "N passed, N failed, N skipped"
//   npm test -- PATTERN …      the tests whose file matches, without the checks; vitest's own options work too
//
// With CI=true a missing program is a failure; otherwise its tests are skipped and one line says what to install.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { staticSteps } from "./check-steps.ts";
import { printStep, runSteps } from "./step.ts";
import { type Counts, countsLine, none, plus } from "./testing/counts.ts";
import { prepareTests } from "./testing/prepare-tests.ts";
import { runVitest } from "./testing/run-vitest.ts";

const HELP = `Runs the tests, with all set-up: tmux, programs for tests, checks.

Usage: npm test [-- PATTERN... [flags of vitest run]]

  npm test                          everything; the last line is "N passed, N failed, N skipped"
  npm test -- gt-usage              the tests whose file matches, without the checks
  npm test -- gt-usage -t "host"    of those, the ones whose name matches

With CI=true a program that is missing is a failure; otherwise its tests are skipped.`;

const LANES = 2;

async function main(patterns: readonly string[]): Promise<Counts> {
  const scratch = await mkdtemp(join(tmpdir(), "gt-test-"));
  try {
    const setUp = await prepareTests(scratch);
    const checks = patterns.length > 0 ? none : await runChecks();
    return [setUp, checks, await runVitest(patterns, scratch)].reduce(plus);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function runChecks(): Promise<Counts> {
  const results = await runSteps(staticSteps(), LANES, printStep);
  const failed = results.filter((result) => !result.ok).length;
  return { passed: results.length - failed, failed, skipped: 0 };
}

const argv = process.argv.slice(2);
if (argv.includes("--help") || argv.includes("-h")) {
  console.log(HELP);
} else {
  const counts = await main(argv);
  console.log(countsLine(counts));
  process.exitCode = counts.failed > 0 ? 1 : 0;
}
