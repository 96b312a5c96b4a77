// The gate: every check that must pass before a commit.
//
//   npm run check             all checks and the unit tests
//   npm run check -- --fast   without the unit tests
//
// One line per step; a failing step is shown in full. Exit code 1 if any failed.
import { staticSteps, unitStep } from "./check-steps.ts";
import { printStep, runSteps } from "./step.ts";

const LANES = 2;

const results = await runSteps(staticSteps(), LANES, printStep);
const tests = process.argv.includes("--fast") ? [] : await runSteps([unitStep()], 1, printStep);
const failed = [...results, ...tests].filter((result) => !result.ok);
if (failed.length > 0) {
  console.log(`failed: ${failed.map((result) => result.name).join(", ")}`);
  process.exitCode = 1;
}
