// Judges the recorded screens and prints the counts: node scripts/launch.mjs scripts/score-screens.ts [--write]
import { loadScreenCases } from "../test/support/screen-corpus.ts";
import { screenReport, writeReport } from "../test/support/screen-report.ts";
import { scoreScreens } from "../test/support/screen-score.ts";

const report = screenReport(await scoreScreens(await loadScreenCases()));
console.log(report);
if (process.argv.includes("--write")) await writeReport(report);
