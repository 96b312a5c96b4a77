import { markdownTable } from "../../../bench/report/render-results.ts";
import type { Results } from "../../../bench/report/row.ts";
import { runLine } from "../../../bench/report/run-report.ts";
import type { LabEvent } from "./record.ts";
import type { Sample } from "./send.ts";
import { crashTable, crowdTable, freezeTable, latencyTable, linesTable, matrixTable, summaryTable } from "./tables.ts";

/**
 * The results of one or several runs. Starts: how often an agent was started with an empty home. Idle, safe: an idle
 * agent, a text without special meaning to any program, and no cancellation. Latency: from the call to its receipt, for
 * an idle agent and a safe text of at most 4 KiB.
 */
export function reportOf(events: readonly LabEvent[]): Results {
  const of = <T extends LabEvent["type"]>(type: T) =>
    events.filter((event): event is LabEvent & { readonly type: T } => event.type === type);
  const samples = of("sample").map(({ sample }) => sample);
  const crashes = of("crash").map(({ figures }) => figures);
  const crowds = of("crowd").map(({ figures }) => figures);
  const freezes = of("freeze").map(({ figures }) => figures);
  const lines = of("lines").map(({ figures }) => figures);
  const missing = of("missing").map(({ target, text }) => `${target} (${text})`);
  const troubles = of("trouble").length;
  const starts = new Map(
    [...Map.groupBy(of("start"), ({ target }) => target)].map(([name, list]) => [name, list.length]),
  );
  const tables = [
    ...(samples.length === 0 ? [] : [summaryTable(samples, starts), latencyTable(byRun(events)), matrixTable(samples)]),
    ...(crashes.length === 0 ? [] : [crashTable(crashes)]),
    ...(freezes.length === 0 ? [] : [freezeTable(freezes)]),
    ...(lines.length === 0 ? [] : [linesTable(lines)]),
    ...(crowds.length === 0 ? [] : [crowdTable(crowds)]),
  ];
  const notes = [
    ...faultList(samples),
    ...[...crashes, ...crowds, ...freezes, ...lines].flatMap((figures) => figures.notes),
    ...(missing.length === 0 ? [] : [`left out: ${missing.join("; ")}`]),
    ...(troubles === 0 ? [] : [`states not reached, or agents given up: ${troubles}`]),
  ];
  const runs = of("run").map(({ facts, seed }) => `${runLine(facts)}; seed ${seed}`);
  return { run: [...new Set(runs)].join(" / "), rows: [], tables, notes };
}

/** The whole report for a terminal or a file, in Markdown. */
export function textOf({ run, tables = [], notes = [] }: Results): string {
  const parts = tables.map((table) => `## ${table.title}\n\n${markdownTable(table)}`);
  return [run, ...parts, ...(notes.length === 0 ? [] : [notes.map((note) => `- ${note}`).join("\n")])].join("\n\n");
}

function byRun(events: readonly LabEvent[]): readonly (readonly Sample[])[] {
  const runs: Sample[][] = [];
  for (const event of events) {
    if (event.type === "run") runs.push([]);
    if (event.type === "sample") runs.at(-1)?.push(event.sample);
  }
  return runs;
}

function faultList(samples: readonly Sample[]): readonly string[] {
  return samples
    .filter((sample) => sample.faults.length > 0)
    .map(({ target, state, kind, mode, told, faults }) => {
      const why = faults.map((fault) => `${fault.kind}: ${fault.why}`).join("; ");
      return `${target}, ${state}, ${kind}, ${mode}: reported ${told}; ${why.replaceAll("\n", " ")}`;
    });
}
