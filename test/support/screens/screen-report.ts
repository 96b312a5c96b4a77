import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { ScreenScore } from "./screen-score.ts";

const FILE = fileURLToPath(new URL("../../../bench/RESULTS.md", import.meta.url));
const SECTION = /<!-- corpus: begin -->[\s\S]*<!-- corpus: end -->/;

/** Recorded after the rules stood; no rule was ever changed for them. */
const HELD_OUT: ReadonlySet<string> = new Set(["claude/2.1.270", "codex/0.163.0", "opencode/1.18.20"]);

const HOW = `Recorded screens of the real programs (\`test/testdata/screens\`), each judged as if it were all that is known and had stood like that for
long. Right: the state, with the kind of the dialog, and whether a draft stands in the composer. "Uncertain" is a miss. Rules are changed for the
versions marked "tuned" only; the others were recorded when the rules stood. Repeat: \`node scripts/launch.mjs scripts/score-screens.ts\`; a test fails when these figures are old.`;

/** The section of bench/RESULTS.md. */
export function screenReport(scores: readonly ScreenScore[]): string {
  const rows = scores.map(({ version, screens, right, wrong, falseIdle, resting, idle }) => {
    const recall = `${idle} of ${resting} (${((100 * idle) / resting).toFixed(1)} %)`;
    const use = HELD_OUT.has(version) ? "held out" : "tuned";
    return `| ${version} | ${use} | ${screens} | ${right} | ${wrong.length} | ${falseIdle.length} | ${recall} |`;
  });
  const table = [
    "| program | rules | screens | right | wrong | false idle | idle recall |",
    "|---|---|---:|---:|---:|---:|---:|",
    ...rows,
  ];
  const wrong = scores.flatMap((score) => score.wrong.map((line) => `- ${line}`));
  const parts = [
    "<!-- corpus: begin -->",
    "## Recorded screens",
    HOW,
    table.join("\n"),
    ...(wrong.length > 0 ? [wrong.join("\n")] : []),
    "<!-- corpus: end -->",
  ];
  return parts.join("\n\n");
}

/** The section as it stands in the file; undefined when there is none. */
export async function writtenReport(): Promise<string | undefined> {
  return SECTION.exec(await readFile(FILE, "utf8"))?.[0];
}

export async function writeReport(report: string): Promise<void> {
  const text = await readFile(FILE, "utf8");
  await writeFile(FILE, SECTION.test(text) ? text.replace(SECTION, () => report) : `${text.trimEnd()}\n\n${report}\n`);
}
