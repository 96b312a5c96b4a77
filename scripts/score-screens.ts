// Judges the recorded screens and prints the counts: node scripts/launch.mjs scripts/score-screens.ts [--write]
import { loadScreenCases } from "../test/support/screens/screen-corpus.ts";
import { screenReport, writeReport } from "../test/support/screens/screen-report.ts";
import { scoreScreens } from "../test/support/screens/screen-score.ts";

const report = screenReport(await scoreScreens(await loadScreenCases()));
console.log(report);
if (process.argv.includes("--write")) await writeReport(report);
