import { execFileSync } from "node:child_process";
import { availableParallelism, loadavg } from "node:os";
import type { Measured } from "./row.ts";

export interface RunFacts {
  readonly date: string;
  readonly machine: string;
}

const BUSY = "more work than cores before anything was measured: absolute times are too long, p99 most of all";

/** The line that identifies a run beside its figures. */
export const runLine = ({ date, machine }: RunFacts): string => `${date}; ${machine}`;

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

/** The cells: name, value with its unit, baseline, ratio, target, whether it was met. */
export function cellsOf({ name, value, unit, baseline, ratio, aim }: Measured): string[] {
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
