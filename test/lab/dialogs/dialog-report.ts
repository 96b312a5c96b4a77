import type { CaseResult } from "./judge-case.ts";

/** A table with one row for each program and kind of choice. */
export function reportOf(results: readonly CaseResult[]): string {
  const groups = Map.groupBy(results, ({ agent, answer }) => `${agent} | ${answer}`);
  const rows = [...groups]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, of]) => {
      const count = (...words: readonly CaseResult["answered"][]) =>
        of.filter((one) => words.includes(one.answered)).length;
      const faults = of.filter((one) => one.faults.length > 0).length;
      return `| ${name} | ${of.length} | ${count("answered", "changed")} | ${count("unknown", "refused")} | ${count("not asked", "not offered")} | ${faults} |`;
    });
  return [
    "| program | choice | dialogs | answered | unknown or refused | not asked or offered | wrong |",
    "|---|---|---:|---:|---:|---:|---:|",
    ...rows,
  ].join("\n");
}
