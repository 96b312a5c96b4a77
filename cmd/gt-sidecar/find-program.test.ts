import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { findAgentProgram } from "./find-program.ts";

let root = "";
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "gt-find-"));
  for (const dir of ["a", "b", "b/agent-dir"]) mkdirSync(join(root, dir));
  for (const file of ["b/agent", "b/plain"]) writeFileSync(join(root, file), "");
  chmodSync(join(root, "b/agent"), 0o755);
});
afterAll(() => rmSync(root, { recursive: true }));

it.each([
  ["by name in the path", "agent", "b/agent"],
  ["by a path below the working folder", "./b/agent", "b/agent"],
])("finds a program %s", (_, program, file) => {
  expect(findAgentProgram(program, `${root}/a:${root}/b`, root)).toBe(join(root, file));
});

it("finds a program by its absolute path", () => {
  expect(findAgentProgram(join(root, "b/agent"), "", "/")).toBe(join(root, "b/agent"));
});

it.each(["none", "plain", "agent-dir", "./agent", "b/none"])("does not find %s", (program) => {
  expect(() => findAgentProgram(program, `${root}/b`, root)).toThrow(
    expect.objectContaining({ kind: "not-found", message: `no program "${program}" found` }),
  );
});

it("does not search the working folder for an empty or relative entry of PATH", () => {
  expect(() => findAgentProgram("agent", ":b:.", join(root, "b"))).toThrow(
    expect.objectContaining({ kind: "not-found" }),
  );
});
