import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programFile } from "../programs.ts";

const LIMIT_MS = 300_000;

/**
 * Runs one of our programs to its end, with an empty home of its own. One that takes five minutes is ended, and
 * `stderr` says so.
 */
export async function runProgramOf(
  name: "threads",
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const home = await mkdtemp(join(tmpdir(), "gt-home-"));
  const child = spawn(process.execPath, [programFile(name), ...args], {
    env: { PATH: process.env["PATH"] ?? "", HOME: home, LANG: "C.UTF-8", NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: LIMIT_MS,
  });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      said[name] += text;
    });
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (ended, signal) => {
      if (signal !== null)
        said.stderr += `${name} ${args[0]} was ended by ${signal}, after ${LIMIT_MS / 1000} s at most`;
      resolve(ended);
    });
  }).finally(() => rm(home, { recursive: true }));
  return { code, ...said };
}
