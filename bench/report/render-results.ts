import { GROUPS, type Group } from "./groups.ts";
import { PLOTS } from "./plots.ts";
import type { AllResults, Measured, Results, Table } from "./row.ts";
import { cellsOf } from "./run-report.ts";

const INTRO = `What a reader would ask for; every figure is in [results/](results), one file for each measurement. Read the ratios: the machine's own speed is
in every absolute figure, and a busy machine shows in the p99 first. Value and baseline of a row took turns in one run, by the same client, under
the same settings; ratio = value / baseline. An aim that was missed is always listed. This page is made from the files by each run with \`--write\`.

Not measured: networks other than loopback, other machines, tmux versions other than the one named, memory after days.`;

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
