import type { Table } from "../../../bench/report/row.ts";
import { quantile, sum } from "../../../bench/stats.ts";
import type { CrashFigures } from "./crash.ts";
import type { CrowdFigures } from "./crowd.ts";
import { ARRIVED, bounded, FAULTS, figuresOf, isTimed, matrix } from "./figures.ts";
import type { FreezeFigures } from "./freeze.ts";
import type { LineFigures } from "./lines.ts";
import type { Sample } from "./send.ts";

type Starts = ReadonlyMap<string, number>;

const share = (count: number, of: number) => (of === 0 ? "" : `${((100 * count) / of).toFixed(1)} % of ${of}`);
const time = (ms: number) => (Number.isFinite(ms) ? `${ms.toFixed(0)} ms` : "");
const upper = (told: string) => told.toUpperCase().replaceAll("-", "_");

/** One row for each target, and one for all of them. */
export function summaryTable(samples: readonly Sample[], starts: Starts): Table {
  const targets = [...Map.groupBy(samples, (sample) => sample.target)];
  const groups = [...Map.groupBy(samples, (sample) => groupOf(sample.target))];
  const rows = [...targets, ...(groups.length > 1 ? groups : []), ["**all**", samples] as const].map(([name, list]) => {
    const { sends, faults, idleSafe, mixedScripts } = figuresOf(list);
    const started = [...new Set(list.map((sample) => sample.target))].reduce(
      (sum, of) => sum + (starts.get(of) ?? 0),
      0,
    );
    const counts = FAULTS.map((kind) => bounded(faults[kind], sends));
    return [
      name,
      started,
      sends,
      ...counts,
      share(idleSafe.submitted, idleSafe.sends),
      share(idleSafe.unknown, idleSafe.sends),
      share(mixedScripts.submitted, mixedScripts.sends),
    ];
  });
  return {
    title: "Receipts",
    head: ["target", "starts", "sends", ...FAULTS, "idle, safe: SUBMITTED", "UNKNOWN", "mixed scripts: SUBMITTED"],
    rows,
  };
}

function groupOf(target: string): string {
  return /^(?:claude|codex|opencode)-/.test(target) ? "**real agents**" : "**test programs**";
}

/** Run by run, because the machine's load differs. `runs`: the samples of each, in order. */
export function latencyTable(runs: readonly (readonly Sample[])[]): Table {
  const rows = runs.flatMap((samples, run) =>
    [...Map.groupBy(samples.filter(isTimed), (sample) => sample.target)].map(([target, list]) => {
      const ms = list.map((sample) => sample.ms);
      return [target, run + 1, list.length, time(quantile(ms, 0.5)), time(quantile(ms, 0.99)), time(Math.max(...ms))];
    }),
  );
  return { title: "Latency", head: ["target", "run", "sends", "p50", "p99", "longest"], rows };
}

export function matrixTable(samples: readonly Sample[]): Table {
  const rows = matrix(samples)
    .toSorted((a, b) => order(a).localeCompare(order(b), "en"))
    .map(({ target, state, told, counts, faults }) => {
      const cells = ARRIVED.map((name) => counts[name] || "");
      return [target, state, upper(told), ...cells, faults || ""];
    });
  return { title: "Receipts against what arrived", head: ["target", "state", "told", ...ARRIVED, "not true"], rows };
}

const order = (row: { readonly target: string; readonly state: string; readonly told: string }): string =>
  [row.target, row.state, row.told].join("|");

/** The parts belong to one target and one victim. */
function sumOf(parts: readonly CrashFigures[]): CrashFigures {
  const add = (of: (part: CrashFigures) => number) => sum(parts.map(of));
  const names = [...new Set(parts.flatMap(({ told }) => Object.keys(told)))];
  return {
    target: parts[0]?.target ?? "",
    victim: parts[0]?.victim ?? "",
    kills: add((part) => part.kills),
    messages: add((part) => part.messages),
    ended: add((part) => part.ended),
    lost: add((part) => part.lost),
    doubled: add((part) => part.doubled),
    wrong: add((part) => part.wrong),
    told: Object.fromEntries(names.map((name) => [name, add((part) => part.told[name] ?? 0)])),
    notes: parts.flatMap(({ notes }) => notes),
  };
}

export function crashTable(crashes: readonly CrashFigures[]): Table {
  const head = ["target", "killed", "receipts", "times", "messages", "ended", "lost", "doubled", "wrong"];
  const groups = Map.groupBy(crashes, ({ target, victim }) => JSON.stringify([target, victim]));
  const rows = [...groups.values()].map(sumOf).map((row) => {
    const counts = [row.lost, row.doubled, row.wrong].map((count) => bounded(count, row.messages));
    const told = Object.entries(row.told).map(([name, count]) => `${count} × ${upper(name)}`);
    return [row.target, row.victim, told.join(", "), row.kills, row.messages, row.ended, ...counts];
  });
  return { title: "Killed with -9 at random instants", head, rows };
}

export function crowdTable(crowds: readonly CrowdFigures[]): Table {
  const head = ["target", "mode", "in order", "callers", "SUBMITTED", "others", "arrived once, whole", "seconds"];
  const rows = crowds.map(({ target, mode, inOrder, callers, submitted, others, whole, ms }) => {
    const rest = Object.entries(others).map(([name, count]) => `${count} × ${upper(name)}`);
    return [
      target,
      mode,
      inOrder ? "yes" : "**no**",
      callers,
      submitted,
      rest.join(", "),
      whole,
      (ms / 1000).toFixed(1),
    ];
  });
  return { title: "Many callers at once", head, rows };
}

export function freezeTable(freezes: readonly FreezeFigures[]): Table {
  const head = ["target", "the message", "freezes", "the next SUBMITTED", "p50 s after", "longest s after", "not true"];
  const rows = [...Map.groupBy(freezes, ({ target }) => target)].map(([target, list]) => {
    const told = Map.groupBy(list, (one) => one.told);
    const after = list.map(({ nextMs }) => nextMs / 1000).toSorted((a, b) => a - b);
    return [
      target,
      [...told].map(([name, ones]) => `${ones.length} × ${upper(name)}`).join(", "),
      list.length,
      list.filter(({ next }) => next === "submitted").length,
      (after[after.length >> 1] ?? 0).toFixed(1),
      (after.at(-1) ?? 0).toFixed(1),
      bounded(sum(list.map(({ notes }) => notes.length)), list.length),
    ];
  });
  return { title: "Frozen at random instants", head, rows };
}

export function linesTable(lines: readonly LineFigures[]): Table {
  const rows = [...Map.groupBy(lines, ({ target }) => target)].map(([target, list]) => {
    const all = sum(list.map(({ from, to }) => to - from));
    return [target, all, ...(["recognised", "cleared"] as const).map((name) => sum(list.map((one) => one[name])))];
  });
  return { title: "Lines in many scripts", head: ["target", "lines", "recognised", "cleared"], rows };
}
