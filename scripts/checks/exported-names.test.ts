import { describe, expect, it } from "vitest";
import { repeatedNames } from "./exported-names.ts";

const repeated = (files: Readonly<Record<string, string>>) =>
  repeatedNames(Object.entries(files).map(([path, text]) => ({ path, text })));

describe("an exported name", () => {
  it.each([
    ["export interface Place {}", "export type Place = string;"],
    ["export class Place {}", "export abstract class Place {}"],
    ["export function Place() {}", "export async function Place() {}"],
    ["export const Place = 1;", "export function* Place() {}"],
  ])("has one declaration: %s", (one, other) => {
    expect(repeated({ "internal/b/b.ts": one, "test/support/a.mjs": other })).toEqual([
      "Place is exported by internal/b/b.ts, test/support/a.mjs: give each its own name",
    ]);
  });

  it("may be a type and a value of one file, or overloads", () => {
    expect(
      repeated({ "internal/a/a.ts": "export type A = 1;\nexport const A = 1;\nexport function A() {}\n" }),
    ).toEqual([]);
  });

  it("may be declared once in each binary, not twice in one or below it as well", () => {
    const text = "export function readConfig() {}";
    expect(repeated({ "cmd/a/config.ts": text, "cmd/b/config.ts": text })).toEqual([]);
    expect(repeated({ "cmd/a/config.ts": text, "cmd/a/b/config.ts": text })).toHaveLength(1);
    expect(repeated({ "cmd/a/config.ts": text, "cmd/b/config.ts": text, "internal/a/a.ts": text })).toHaveLength(1);
  });

  it("may be the word of several commands, or a variable of several test beds", () => {
    const start = "export const start: Command<StartFlags> = {};";
    const made = "export const start = (ops: FileOps): Command<typeof FLAGS> => ({});";
    expect(repeated({ "cmd/gt/a.ts": start, "cmd/gt/b.ts": made, "internal/a/a.ts": "export let start = 1;" })).toEqual(
      [],
    );
  });

  it("counts in code that others import, not in tests, examples and descriptions of JavaScript", () => {
    const text = "export const a = 1;";
    const paths = ["internal/a/a.ts", "internal/a/a.test.ts", "test/integration/a.ts", "bench/a.ts", "scripts/a.d.mts"];
    expect(repeated(Object.fromEntries(paths.map((path) => [path, text])))).toEqual([]);
  });
});
