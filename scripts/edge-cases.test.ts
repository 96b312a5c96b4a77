import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const text = readFileSync(join(root, "docs/edge-cases.md"), "utf8");

it("names no test in the table of edge cases that is not in its file, and none without one", () => {
  const named = [...text.matchAll(/`([\w./-]+\.test\.ts)`: "([^"]+)"/g)];
  const missing = named.filter(([, file = "", name = ""]) => !readFileSync(join(root, file), "utf8").includes(name));
  expect(missing.map(([all]) => all)).toEqual([]);
  const [held = ""] = text.split("## Not held here");
  const rows = held.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| given"));
  expect(rows.length).toBeGreaterThan(40);
  expect(rows.filter((row) => !/\.test\.ts`: "/.test(row))).toEqual([]);
});
