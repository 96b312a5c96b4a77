import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/step.ts";
import { drawPlots } from "./plots.ts";
import { renderResults } from "./render-results.ts";
import type { AllResults, Measured, Results } from "./row.ts";

const FOLDER = join(root, "bench", "results");

/** @internal */
export function readAllResults(): AllResults {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith(".json"));
  return new Map(names.sort().map((name) => [name.slice(0, -".json".length), readResults(name)]));
}

function readResults(name: string): Results {
  return JSON.parse(readFileSync(join(FOLDER, name), "utf8")) as Results;
}

/** Stores the results of a run in place of the previous ones, and draws RESULTS.md and its plots again. */
export function writeResults(name: string, results: Results): void {
  const rows = results.rows.map((row) => ({ ...row, value: rounded(row.value), ...ofBaseline(row) }));
  writeFileSync(join(FOLDER, `${name}.json`), `${JSON.stringify({ ...results, rows }, null, 2)}\n`);
  for (const [path, text] of drawnFiles(readAllResults())) writeFileSync(join(root, path), text);
}

function ofBaseline({ baseline, ratio }: Measured): Pick<Measured, "baseline" | "ratio"> {
  return { baseline: baseline === null ? null : rounded(baseline), ratio: ratio === null ? null : rounded(ratio) };
}

const rounded = (figure: number): number => Number(figure.toPrecision(4));

/**
 * The files that are made from the results: path from the root, and content.
 * @internal
 */
export function drawnFiles(all: AllResults): readonly (readonly [path: string, text: string])[] {
  return [["bench/RESULTS.md", renderResults(all)], ...drawPlots(all)];
}
