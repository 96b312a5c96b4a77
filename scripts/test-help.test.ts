import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, it } from "vitest";

it.each(["--help", "-h"])("npm test -- %s explains itself and runs nothing", async (flag) => {
  const script = join(import.meta.dirname, "launch.mjs");
  const { stdout } = await execa(process.execPath, [script, join(import.meta.dirname, "test.ts"), flag]);
  expect(stdout).toMatch(/^Runs the tests.*\n\nUsage: npm test/);
  expect(stdout).not.toMatch(/^tmux …$/m);
});

it("scripts and configurations name only existing scripts", () => {
  const root = join(import.meta.dirname, "..");
  const files = globSync(["scripts/**/*.{ts,mjs}", "*.json", "*.config.ts"], { cwd: root });
  const named = files.flatMap(
    (file) => readFileSync(join(root, file), "utf8").match(/(?<![\w/])(?:\.\/)?scripts\/[\w/-]+\.(?:ts|mjs)\b/g) ?? [],
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((script) => !existsSync(join(root, script)))).toEqual([]);
});
