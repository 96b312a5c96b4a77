import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { profileNames, programNames } from "../known-programs.ts";
import { profileNamed } from "./registry.ts";

it("knows each profile by its name", () => {
  for (const name of profileNames) expect(profileNamed(name).name).toBe(name);
});

it.each(["unknown", "", "constructor", "__proto__"])("refuses %j and lists the names", (name) => {
  expect(() => profileNamed(name)).toThrow(profileNames.join(", "));
});

it("has all of its programs in Dockerfile.sidecar", () => {
  const text = readFileSync(new URL("../../../Dockerfile.sidecar", import.meta.url), "utf8");
  for (const name of programNames) expect(text).toMatch(new RegExp(`\\bAGENT\\b.*\\b${name}\\b`));
});
