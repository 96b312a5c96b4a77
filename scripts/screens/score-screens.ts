// Judges the recorded screens and prints the counts: node scripts/launch.mjs scripts/screens/score-screens.ts [--write]
import { markdownTable } from "../../bench/report/render-results.ts";
import { writeResults } from "../../bench/report/results.ts";
import { loadScreenCases } from "../../test/support/screens/screen-corpus.ts";
import { screenResults } from "../../test/support/screens/screen-report.ts";
import { scoreScreens } from "../../test/support/screens/screen-score.ts";

const results = screenResults(await scoreScreens(await loadScreenCases()));
for (const table of results.tables ?? []) console.log(markdownTable(table));
for (const note of results.notes ?? []) console.log(`- ${note}`);
if (process.argv.includes("--write")) writeResults("screens", results);
