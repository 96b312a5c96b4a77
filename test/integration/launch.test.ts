import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runToEnd } from "../support/run-to-end.ts";

const scripts = join(import.meta.dirname, "..", "..", "scripts");
const lock = (version: string) => ({ packages: { "": {}, "node_modules/a": { version, integrity: "sha512-a" } } });

/** Replaces npm: takes some time, counts its runs, and leaves the same files as npm. */
const FAKE_NPM = `
const fs = require("node:fs");
fs.appendFileSync("npm-runs", process.argv.slice(2).join(" ") + "\\n");
setTimeout(() => {
  fs.mkdirSync("node_modules", { recursive: true });
  fs.copyFileSync("package-lock.json", "node_modules/.package-lock.json");
}, 300);
`;

/** A clone with only the launcher, a lock file, and a program that prints its arguments. */
async function tinyClone() {
  const path = await mkdtemp(join(tmpdir(), "launch-"));
  await mkdir(join(path, "scripts"));
  for (const name of ["launch.mjs", "install-packages.mjs", "npm-ci.mjs", "compile-cache.mjs"]) {
    await cp(join(scripts, name), join(path, "scripts", name));
  }
  await writeFile(join(path, "package-lock.json"), JSON.stringify(lock("1.0.0")));
  await writeFile(join(path, "npm-cli.js"), FAKE_NPM);
  await writeFile(join(path, "exit.ts"), "const code: number = Number(process.argv[2]);\nprocess.exit(code);\n");
  await writeFile(join(path, "wait.ts"), 'process.stdout.write("up");\nsetTimeout(() => {}, 30_000);\n');
  const env = { ...process.env, npm_execpath: join(path, "npm-cli.js") };
  const launch = (...words: string[]) =>
    spawn(process.execPath, [join(path, "scripts", "launch.mjs"), ...words], { env });
  return {
    path,
    launch,
    async ended(...words: string[]) {
      const { code, stderr } = await runToEnd(process.execPath, [join(path, "scripts", "launch.mjs"), ...words], {
        env,
      });
      return { code, stderr };
    },
    async npmRuns() {
      const runs = await readFile(join(path, "npm-runs"), "utf8").catch(() => "");
      return runs.split("\n").filter((line) => line !== "");
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

describe("the launcher", () => {
  it("installs the packages first and passes arguments and the exit code on", async () => {
    await using clone = await tinyClone();
    expect(await clone.ended("exit.ts", "7")).toMatchObject({ code: 7 });
    expect(await clone.npmRuns()).toEqual([expect.stringMatching(/^ci .*--ignore-scripts/)]);
    expect(await clone.ended("exit.ts", "0")).toEqual({ code: 0, stderr: "" });
    expect(await clone.npmRuns()).toHaveLength(1);
  });

  it("installs once when several launchers start at the same time", async () => {
    await using clone = await tinyClone();
    const ends = await Promise.all([1, 2, 3, 4].map((code) => clone.ended("exit.ts", String(code))));
    expect(ends.map((end) => end.code)).toEqual([1, 2, 3, 4]);
    expect(await clone.npmRuns()).toHaveLength(1);
  });

  it("installs after another launcher was killed while installing", async () => {
    await using clone = await tinyClone();
    const first = clone.launch("exit.ts", "0");
    await once(first.stderr, "data");
    first.kill("SIGKILL");
    expect(await clone.ended("exit.ts", "5")).toMatchObject({ code: 5 });
  });

  it("compares the content when the lock file is newer than the packages", async () => {
    await using clone = await tinyClone();
    await clone.ended("exit.ts", "0");
    const later = new Date(Date.now() + 60_000);
    await utimes(join(clone.path, "package-lock.json"), later, later);
    expect(await clone.ended("exit.ts", "0")).toEqual({ code: 0, stderr: "" });
    await writeFile(join(clone.path, "package-lock.json"), JSON.stringify(lock("1.0.1")));
    await utimes(join(clone.path, "package-lock.json"), later, later);
    await clone.ended("exit.ts", "0");
    expect(await clone.npmRuns()).toHaveLength(2);
  });

  it("ends with the signal that ended the program", async () => {
    await using clone = await tinyClone();
    const child = clone.launch("wait.ts");
    await once(child.stdout, "data");
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([null, "SIGTERM"]);
  });

  it("reports an error in one line", async () => {
    await using clone = await tinyClone();
    expect(await clone.ended()).toMatchObject({ code: 1, stderr: expect.stringContaining("error: usage: launch.mjs") });
    expect(await clone.ended("--bin", "nope")).toEqual({
      code: 1,
      stderr: 'error: no program "nope" in node_modules/.bin\n',
    });
  });

  it("reports a failure of npm, and does not start the program", async () => {
    await using clone = await tinyClone();
    await writeFile(join(clone.path, "npm-cli.js"), "process.exit(3);");
    const { code, stderr } = await clone.ended("exit.ts", "0");
    expect(code).toBe(1);
    expect(stderr).toContain(`error: npm ci failed in ${clone.path} (exit 3)`);
  });
});
