import { writeSection } from "../results-section.ts";
import type { LabEvent } from "./record.ts";
import type { Sample } from "./send.ts";
import { crashTable, crowdTable, freezeTable, latencyTable, linesTable, matrixTable, summaryTable } from "./tables.ts";

const INTRO = `Written by \`npm run lab -- --write\`. Each send is judged by what the program itself received: the requests to a pretended model, or the
test program's own log. Starts: how often an agent was started with an empty home, at the latest after 50 sends. In brackets: the 95 % upper
bound of a rate of which nothing was seen (rule of three). Idle, safe: an idle agent, a text that is special to no program, and not called off.`;

const LATENCY = `From the call to its receipt: idle agent, safe text of at most 4 KiB, mode wait-idle or immediate. Run by run, because the machine's load is in it.`;

/** The whole report in Markdown. */
export function reportOf(events: readonly LabEvent[]): string {
  const of = <T extends LabEvent["type"]>(type: T) =>
    events.filter((event): event is LabEvent & { readonly type: T } => event.type === type);
  const samples = of("sample").map(({ sample }) => sample);
  const crashes = of("crash").map(({ figures }) => figures);
  const crowds = of("crowd").map(({ figures }) => figures);
  const freezes = of("freeze").map(({ figures }) => figures);
  const lines = of("lines").map(({ figures }) => figures);
  const missing = of("missing").map(({ target, text }) => `${target} (${text})`);
  const notes = [...crashes, ...crowds, ...freezes, ...lines].flatMap((figures) => figures.notes);
  const troubles = of("trouble").length;
  const starts = new Map(
    [...Map.groupBy(of("start"), ({ target }) => target)].map(([name, list]) => [name, list.length]),
  );
  const parts = [
    "## Delivery laboratory",
    `${INTRO} Runs:`,
    of("run")
      .map(({ facts, seed }, at) => `${at + 1}. ${facts.date}; ${facts.machine}; seed ${seed}`)
      .join("\n"),
    ...(samples.length === 0 ? [] : [summaryTable(samples, starts)]),
    ...(samples.length === 0 ? [] : ["### Latency", LATENCY, latencyTable(byRun(events))]),
    ...(samples.length === 0 ? [] : ["### Receipts against what arrived", matrixTable(samples)]),
    ...(crashes.length === 0 ? [] : ["### Killed with -9 at random instants", crashTable(crashes)]),
    ...(freezes.length === 0 ? [] : ["### Frozen at random instants", freezeTable(freezes)]),
    ...(lines.length === 0 ? [] : ["### Lines in many scripts", linesTable(lines)]),
    ...(crowds.length === 0 ? [] : ["### Many callers at once", crowdTable(crowds)]),
    ...faultList(samples),
    ...(notes.length === 0 ? [] : [notes.map((note) => `- ${note}`).join("\n")]),
    ...(missing.length === 0 ? [] : [`Left out: ${missing.join("; ")}.`]),
    ...(troubles === 0 ? [] : [`States not reached, or agents given up: ${troubles}.`]),
  ];
  return parts.join("\n\n");
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
  writeSection("lab", report);
}
