import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { profileNames, programNames } from "../known-programs.ts";
import { profileNamed } from "./registry.ts";

it("knows each profile by its name", () => {
  for (const name of profileNames) expect(profileNamed(name).name).toBe(name);
});

it.each(["gemini", "", "constructor", "__proto__"])("refuses %j and lists the names", (name) => {
  expect(() => profileNamed(name)).toThrow(/claude, codex, opencode, demo, generic/);
});

it.each(["Dockerfile.sidecar", "docs/container.md"])("has all of its programs in %s", (file) => {
  const text = readFileSync(new URL(`../../../${file}`, import.meta.url), "utf8");
  for (const name of programNames) expect(text).toMatch(new RegExp(`\\bAGENT\\b.*\\b${name}\\b`));
});

it("has all of its names in the chart's schema", () => {
  const schema = readFileSync(new URL("../../../charts/gastown/values.schema.json", import.meta.url), "utf8");
  expect(schema).toContain(`"enum": ${JSON.stringify(profileNames).replaceAll(",", ", ")}`);
});
