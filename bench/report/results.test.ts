import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../scripts/step.ts";
import { GROUPS } from "./groups.ts";
import { PLOTS } from "./plots.ts";
import { renderResults } from "./render-results.ts";
import { drawnFiles, readAllResults } from "./results.ts";

const all = readAllResults();

describe("bench/RESULTS.md", () => {
  it.each(drawnFiles(all).map(([path, text]) => ({ path, text })))(
    "$path is generated from bench/results",
    ({ path, text }) => {
      expect(readFileSync(join(root, path), "utf8")).toBe(text);
    },
  );

  it("has every file of bench/results in a section", () => {
    const shown = new Set(GROUPS.flatMap(({ files }) => files));
    expect([...all.keys()].filter((name) => !shown.has(name))).toEqual([]);
  });

  it("has a row for each bar of a plot", () => {
    const names = (from: string) => (all.get(from)?.rows ?? []).map(({ name }) => name);
    const lost = PLOTS.flatMap(({ from, bars }) =>
      bars.filter(({ row }) => !names(from).some((name) => row.test(name))),
    );
    expect(lost).toEqual([]);
  });

  it("lists each missed aim, and is short", () => {
    const text = renderResults(all);
    const missed = [...all.values()].flatMap(({ rows }) => rows.filter(({ aim }) => aim?.met === false));
    for (const { name } of missed) expect(text).toContain(`| ${name} |`);
    expect(text.split("\n").length).toBeLessThanOrEqual(240);
  });
});
