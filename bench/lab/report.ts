import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RunFacts } from "../report.ts";
import type { CrashFigures } from "./crash.ts";
import { ARRIVED, bounded, FAULTS, figuresOf, matrix, type TargetFigures } from "./figures.ts";
import type { Sample } from "./send.ts";

export interface LabResult {
  readonly facts: RunFacts;
  readonly seed: number;
  readonly samples: readonly Sample[];
  readonly troubles: readonly string[];
  readonly missing: readonly string[];
  readonly crashes: readonly CrashFigures[];
}

const BEGIN = "<!-- lab: begin -->";
const END = "<!-- lab: end -->";

/** The whole report in Markdown. */
export function reportOf(result: LabResult): string {
  const { facts, seed, samples, troubles, missing, crashes } = result;
  const parts = [
    "## Delivery laboratory",
    `Written by \`npm run lab -- --write\`. ${facts.date}; ${facts.machine}; seed ${seed}. Each send is judged by what the program itself
received: the requests to a pretended model, or the test program's own log. In brackets: the 95 % upper bound of a rate of which nothing
was seen (rule of three).`,
    ...(samples.length === 0 ? [] : [summary(samples), "### Receipts against what arrived", matrixTable(samples)]),
    ...(crashes.length === 0 ? [] : ["### Killed with -9 at random instants", crashTable(crashes)]),
    ...faultList(samples),
    ...(missing.length === 0 ? [] : [`Left out: ${missing.join("; ")}.`]),
    ...(troubles.length === 0 ? [] : [`States not reached, or agents given up: ${troubles.length}.`]),
  ];
  return parts.join("\n\n");
}

function summary(samples: readonly Sample[]): string {
  const head = ["target", "sends", ...FAULTS, "idle, safe: SUBMITTED", "UNKNOWN", "p50", "p99"];
  const all = figuresOf(samples);
  const rows = [...all.map(summaryRow), ...(all.length > 1 ? [total(all)] : [])];
  return [`| ${head.join(" | ")} |`, `|---|${"---:|".repeat(head.length - 1)}`, ...rows].join("\n");
}

function summaryRow({ target, sends, faults, idleSafe, p50Ms, p99Ms }: TargetFigures): string {
  const counts = FAULTS.map((kind) => bounded(faults[kind], sends));
  const shares = [share(idleSafe.submitted, idleSafe.sends), share(idleSafe.unknown, idleSafe.sends)];
  return `| ${[target, sends, ...counts, ...shares, time(p50Ms), time(p99Ms)].join(" | ")} |`;
}

function total(all: readonly TargetFigures[]): string {
  const sum = (of: (figures: TargetFigures) => number) => all.reduce((count, figures) => count + of(figures), 0);
  const sends = sum((figures) => figures.sends);
  const counts = FAULTS.map((kind) =>
    bounded(
      sum((figures) => figures.faults[kind]),
      sends,
    ),
  );
  const idle = sum((figures) => figures.idleSafe.sends);
  const shares = [
    share(
      sum((f) => f.idleSafe.submitted),
      idle,
    ),
    share(
      sum((f) => f.idleSafe.unknown),
      idle,
    ),
  ];
  return `| ${["all", sends, ...counts, ...shares, "", ""].join(" | ")} |`;
}

function share(count: number, of: number): string {
  return of === 0 ? "" : `${((100 * count) / of).toFixed(1)} % of ${of}`;
}

function time(ms: number): string {
  return Number.isFinite(ms) ? `${ms.toFixed(0)} ms` : "";
}

function matrixTable(samples: readonly Sample[]): string {
  const rows = matrix(samples)
    .toSorted((a, b) => order(a).localeCompare(order(b), "en"))
    .map(({ target, state, told, counts, faults }) => {
      const cells = ARRIVED.map((name) => counts[name] || "");
      return `| ${[target, state, told.toUpperCase().replaceAll("-", "_"), ...cells, faults || ""].join(" | ")} |`;
    });
  const head = ["target", "state", "told", ...ARRIVED, "not true"];
  return [`| ${head.join(" | ")} |`, "|---|---|---|---:|---:|---:|---:|---:|", ...rows].join("\n");
}

const order = (row: { readonly target: string; readonly state: string; readonly told: string }): string =>
  [row.target, row.state, row.told].join("|");

function crashTable(crashes: readonly CrashFigures[]): string {
  const head = ["target", "killed", "times", "messages", "ended", ...["lost", "doubled", "wrong"], "receipts"];
  const rows = crashes.map((row) => {
    const counts = [row.lost, row.doubled, row.wrong].map((count) => bounded(count, row.messages));
    const told = Object.entries(row.told).map(
      ([name, count]) => `${count} × ${name.toUpperCase().replaceAll("-", "_")}`,
    );
    return `| ${[row.target, row.victim, row.kills, row.messages, row.ended, ...counts, told.join(", ")].join(" | ")} |`;
  });
  return [`| ${head.join(" | ")} |`, "|---|---|---:|---:|---:|---:|---:|---:|---|", ...rows].join("\n");
}

function faultList(samples: readonly Sample[]): readonly string[] {
  const faulty = samples.filter((sample) => sample.faults.length > 0);
  if (faulty.length === 0) return [];
  const lines = faulty.map(({ target, state, kind, mode, told, faults }) => {
    const why = faults.map((fault) => `${fault.kind}: ${fault.why}`).join("; ");
    return `- ${target}, ${state}, ${kind}, ${mode}: told ${told}; ${why.replaceAll("\n", " ")}`;
  });
  return ["### Not true", lines.join("\n")];
}

/** Puts the report between its marks in bench/RESULTS.md; the rest of the file stays as it is. */
export function writeReport(report: string): void {
  const path = join(import.meta.dirname, "../RESULTS.md");
  const text = readFileSync(path, "utf8");
  const section = `${BEGIN}\n\n${report}\n\n${END}`;
  const [from, to] = [text.indexOf(BEGIN), text.indexOf(END)];
  const whole =
    from < 0 || to < from
      ? `${text.trimEnd()}\n\n${section}\n`
      : `${text.slice(0, from)}${section}${text.slice(to + END.length)}`;
  writeFileSync(path, whole);
}
