import { GROUPS, type Group } from "./groups.ts";
import { PLOTS } from "./plots.ts";
import type { AllResults, Measured, Results, Table } from "./row.ts";
import { cellsOf } from "./run-report.ts";

const INTRO = `This page lists the figures of most interest; [results/](results) has all of them, one file for each measurement. Compare the ratios: absolute
figures depend on the speed of the machine, and load on the machine affects the p99 first. The same client measured the value and the baseline of
a row alternately, in one run, with the same settings; ratio = value / baseline. Missed aims are always listed. Each run with \`--write\` regenerates
this page from the files.

Not measured: networks other than loopback, other machines, tmux versions other than the one named, memory use over days.`;

/** The complete text of bench/RESULTS.md. */
export function renderResults(all: AllResults): string {
  const plots = PLOTS.map(({ title, file }) => `![${title}](plots/${file})`).join(" ");
  return `${["# Measured", INTRO, plots, ...GROUPS.flatMap((group) => sectionOf(group, all))].join("\n\n")}\n`;
}

function sectionOf(group: Group, all: AllResults): readonly string[] {
  const files = group.files.filter((name) => all.has(name));
  const results = files.map((name) => all.get(name)).filter((found) => found !== undefined);
  if (results.length === 0) return [];
  const runs = [...new Set(results.map(({ run }) => run))].join(" / ");
  const links = files.map((name) => `[${name}](results/${name}.json)`).join(", ");
  return [`## ${group.title}`, `${group.about} ${links}: ${runs}.`, ...tablesOf(group, results)];
}

function tablesOf(group: Group, results: readonly Results[]): readonly string[] {
  const rows = results.flatMap((each) => each.rows).filter((row) => isMissed(row) || isNamed(group.rows, row.name));
  const tables = results.flatMap(({ tables = [] }) => tables.flatMap((table) => shownOf(group, table)));
  if (rows.length === 0) return tables;
  const head = "| what | value | baseline | ratio | aim | |\n|---|---:|---:|---:|---|---|";
  return [[head, ...rows.map((row) => `| ${cellsOf(row).join(" | ")} |`)].join("\n"), ...tables];
}

function shownOf({ tables = [] }: Group, table: Table): readonly string[] {
  const shown = tables.find(([title]) => title === table.title);
  if (shown === undefined) return [];
  return [markdownTable({ ...table, rows: table.rows.filter(([name]) => isNamed(shown[1], String(name))) })];
}

/** Columns of numbers are aligned right; a cell that begins with a digit counts as a number. */
export function markdownTable({ head, rows }: Table): string {
  const marks = head.map((_, at) => (rows.every((row) => /^\d|^$/.test(String(row[at] ?? ""))) ? "---:" : "---"));
  return [head, marks, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

const isMissed = ({ aim }: Measured): boolean => aim?.met === false;
const isNamed = (patterns: readonly RegExp[], name: string): boolean => patterns.some((pattern) => pattern.test(name));
