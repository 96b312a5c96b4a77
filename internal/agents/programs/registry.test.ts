import { expect, it } from "vitest";
import { profileNamed, profileNames } from "./registry.ts";

it("knows each profile by its name", () => {
  for (const name of profileNames) expect(profileNamed(name).name).toBe(name);
});

it.each(["gemini", "", "constructor", "__proto__"])("refuses %j and lists the names", (name) => {
  expect(() => profileNamed(name)).toThrow(/claude, codex, opencode, demo, generic/);
});
