// Tests that concurrent processes lose none of each other's changes to a file that is read, changed and renamed. For
// the files of bridge-ca: test/e2e/bridge-ca-failures.test.ts.
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { programFile } from "../support/programs.ts";

const run = promisify(execFile);
let dir = "";
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "gt-at-once-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const gt = (...args: readonly string[]) =>
  run(process.execPath, [programFile("gt"), ...args], { cwd: dir, env: { PATH: process.env["PATH"], HOME: dir } });

it("gt config keeps all of eight profiles that are created concurrently", async () => {
  const names = Array.from({ length: 8 }, (_, i) => `p${i}`);
  await Promise.all(names.map((name) => gt("config", "set", "server", `${name}:1`, "--profile", name)));
  const { profiles } = JSON.parse(await readFile(join(dir, ".config/gt/config.json"), "utf8"));
  expect(profiles).toEqual(Object.fromEntries(names.map((name) => [name, { server: `${name}:1` }])));
});
