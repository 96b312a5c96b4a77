import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import type { Measured } from "./row.ts";

export interface RunFacts {
  readonly date: string;
  readonly machine: string;
}

const BUSY = "more work than cores before anything was measured: absolute times are too long, p99 most of all";

export function runFacts(): RunFacts {
  const tmux = execFileSync("tmux", ["-V"], { encoding: "utf8" }).trim();
  const load = loadavg()[0] ?? 0;
  const machine = `${availableParallelism()} cores, ${process.platform} ${process.arch}, ${tmux}, Node ${process.version}; load average at the start ${load.toFixed(1)}`;
  const isBusy = load > availableParallelism();
  return { date: new Date().toISOString().slice(0, 10), machine: isBusy ? `${machine} (${BUSY})` : machine };
}

export function table(rows: readonly Measured[]): string {
  const cells = [["", "value", "baseline", "ratio", "aim", ""], ...rows.map(cellsOf)];
  const widths = [0, 1, 2, 3, 4, 5].map((column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, at) => (at === 0 || at > 3 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join("  ")
      .trimEnd();
  return cells.map(line).join("\n");
}

function cellsOf({ name, value, unit, baseline, ratio, aim }: Measured): string[] {
  const number = (figure: number | null) => (figure === null ? "" : shown(figure));
  return [
    name,
    `${shown(value)} ${unit}`,
    number(baseline),
    number(ratio),
    aim?.text ?? "",
    aim === undefined ? "" : aim.met ? "met" : "MISSED",
  ];
}

function shown(figure: number): string {
  if (Number.isInteger(figure) || Math.abs(figure) >= 1000) return figure.toFixed(0);
  return Number(figure.toPrecision(3)).toString();
}

const INTRO = `Written by \`npm run bench -- --write\` from one run. Read the ratios: the machine's own speed is in every absolute figure, and
a busy machine shows in the p99 first. Everything in a row's value and baseline was measured in turns (A B, B A, …) in the same run, by the same
client, against the same tmux with the same settings; times are medians or quantiles over all rounds. Ratio = value / baseline.`;

const WAYS = `- **peek**: the last 50 lines, over HTTP/2 and the Connect protocol without compression. Value: the bundled gt-sidecar. Baseline: a server
  with the same RPC code that runs one \`tmux display-message ; capture-pane\` per call (\`bench/peers/forking-server.ts\`). CPU: user and system time of
  the serving process, with the tmux clients that the forking one ran; the tmux server's own time is not in it.
- **nudge**: value: Nudge with its receipt. Baseline: \`send-keys -l\`, 500 ms, Enter (\`bench/peers/fixed-sleep-sender.ts\`), in a second
  instance of the same agent under another sidecar. Messages are short, five lines and 1 KB in turn. What arrived is read from the agent's side: the demo
  agent's log, or the requests that a real agent made to a model server on loopback. "False ok": answered as delivered, and did not arrive exactly once and whole.
- **output**, **latency**: value: a RAW watcher over plaintext HTTP/2 in another process. Baseline: \`pipe-pane -O\` through a FIFO into a process that only
  counts. The pane's program writes straight to its terminal and says when.
- **start**: the bundle with an agent that does nothing. Ready: \`/readyz\` says so. Back: Status is answered by a new serving half with the agent alive.`;

const NOT_MEASURED = `Networks other than loopback; other machines; tmux versions other than the one named; many watchers or many sidecars at once; a
stalled watcher; Attach, StreamEvents and SendKeys; agents in their alternate screen; memory after days.`;

/** A row of a Markdown table with the columns what, value, baseline, ratio, aim, met. */
export function rowLine(row: Measured): string {
  return `| ${cellsOf(row).join(" | ")} |`;
}

/** Writes bench/RESULTS.md; sections between marks are of runs of their own and stay as they are. */
export function writeResults(rows: readonly Measured[], facts: RunFacts, notes: readonly string[]): void {
  const missed = rows.filter((row) => row.aim?.met === false);
  const missedText =
    missed.length === 0
      ? "None in this run."
      : missed
          .map(
            (row) =>
              `- ${row.name}: ${shown(row.value)} ${row.unit}${row.ratio === null ? "" : `, ratio ${shown(row.ratio)}`} (${row.aim?.text})`,
          )
          .join("\n");
  const lines = rows.map(rowLine);
  const parts = [
    "# Measured",
    INTRO,
    `${facts.date}; ${facts.machine}. Repeat: \`npm run bench\` (all of it), \`npm run bench -- --only peek,output\`, \`--quick\` for a look, \`--json FILE\` for the rows.`,
    ...notes,
    ["| what | value | baseline | ratio | aim | |", "|---|---:|---:|---:|---|---|", ...lines].join("\n"),
    "## How",
    WAYS,
    "## Aims missed",
    missedText,
    "## Not measured",
    NOT_MEASURED,
  ];
  const path = join(import.meta.dirname, "RESULTS.md");
  const kept = readFileSync(path, "utf8").match(/<!-- (\w+): begin -->[\s\S]*?<!-- \1: end -->/g) ?? [];
  writeFileSync(path, `${[...parts, ...kept].join("\n\n")}\n`);
}
