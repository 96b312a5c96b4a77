import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const page = (name: string): string => readFileSync(join(root, "docs", name), "utf8");

/** The tests that a page names but that their file does not contain. */
function missingTests(text: string): readonly string[] {
  const named = [...text.matchAll(/`([\w./-]+\.ts)`: "([^"]+)"/g)];
  const missing = named.filter(([, file = "", name = ""]) => !readFileSync(join(root, file), "utf8").includes(name));
  return missing.map(([all]) => all);
}

const untested = (rows: readonly string[]): readonly string[] => rows.filter((row) => !/\.ts`: "/.test(row));

it("edge-cases.md: every row names a test, and every named test is in its file", () => {
  const text = page("edge-cases.md");
  expect(missingTests(text)).toEqual([]);
  const [held = ""] = text.split("## Not tested");
  const rows = held.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| given"));
  expect(rows.length).toBeGreaterThan(40);
  expect(untested(rows)).toEqual([]);
});

it("security.md: every row names a test, and every named test is in its file", () => {
  const text = page("security.md");
  expect(missingTests(text)).toEqual([]);
  const [, table = ""] = /\| attacker \| asset \| tested by \|\n([\s\S]*?)\n\n/.exec(text) ?? [];
  const rows = table.split("\n").filter((line) => !line.startsWith("|---"));
  expect(rows.length).toBeGreaterThan(20);
  expect(untested(rows)).toEqual([]);
});

it("failures.md: every row names a test, and every named test is in its file", () => {
  const text = page("failures.md");
  expect(missingTests(text)).toEqual([]);
  const [held = ""] = text.split("## Not tested");
  const rows = held.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| fault"));
  expect(rows.length).toBeGreaterThan(25);
  expect(untested(rows)).toEqual([]);
});

it("bridge.md: every row names a test, and every named test is in its file", () => {
  const text = page("bridge.md");
  expect(missingTests(text)).toEqual([]);
  const [, table = ""] = /\| promise \| shown by \| \|\n([\s\S]*?)\n\n/.exec(text) ?? [];
  const rows = table.split("\n").filter((line) => !line.startsWith("|---"));
  expect(rows).toHaveLength(8);
  expect(untested(rows)).toEqual([]);
});

it("threads-requirements.md: every requirement names a test, and every named test is in its file", () => {
  const text = page("threads-requirements.md");
  expect(missingTests(text)).toEqual([]);
  const rows = text.split("\n").filter((line) => /^\| N?FR-/.test(line));
  expect(rows).toHaveLength(18 + 7);
  const faults = text.split("\n").filter((line) => /^\| F\d/.test(line));
  const numbers = faults.flatMap((line) => line.split("|")[1]?.match(/(?<=F)\d+/g) ?? []);
  expect(numbers.map(Number).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, at) => at + 1));
  expect(untested([...rows, ...faults])).toEqual([]);
});
