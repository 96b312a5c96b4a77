import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);

it.each(["--help", "-h"])("npm test -- %s explains itself and runs nothing", async (flag) => {
  const script = join(import.meta.dirname, "launch.mjs");
  const { stdout } = await run(process.execPath, [script, join(import.meta.dirname, "test.ts"), flag]);
  expect(stdout).toMatch(/^Runs the tests.*\n\nUsage: npm test/);
  expect(stdout).not.toMatch(/^tmux …$/m);
});
