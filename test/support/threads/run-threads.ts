import { spawn } from "node:child_process";
import { programFile } from "../programs.ts";

/** Runs one of our programs to its end, at most a minute. */
export async function runProgramOf(
  name: "threads",
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const child = spawn(process.execPath, [programFile(name), ...args], {
    env: { PATH: process.env["PATH"] ?? "", HOME: "/nonexistent", LANG: "C.UTF-8", NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 60_000,
  });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      said[name] += text;
    });
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { code, ...said };
}
