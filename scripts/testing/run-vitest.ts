import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { packaged, root, toolEnvironment, vitestColor } from "../step.ts";
import { type Counts, none, plus } from "./counts.ts";

/** Runs `vitest run` with these arguments and counts its tests. `scratch`: a folder for the counts. */
export async function runVitest(args: readonly string[], scratch: string): Promise<Counts> {
  const file = join(scratch, "counts.json");
  const reporters = ["--reporter=./scripts/testing/count-reporter.ts", "--reporter=default"];
  const code = await run(packaged("vitest"), ["run", ...reporters, ...vitestColor, ...args], {
    ...toolEnvironment(),
    GT_TEST_COUNTS: file,
    TMPDIR: scratch,
  });
  const counts = await readFile(file, "utf8").then(
    (text) => JSON.parse(text) as Counts,
    () => none,
  );
  // A vitest that fails before or outside the tests must not look like a pass.
  return code !== 0 && counts.failed === 0 ? plus(counts, { ...none, failed: 1 }) : counts;
}

function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: root, env, stdio: ["ignore", "inherit", "inherit"] });
    for (const signal of ["SIGTERM", "SIGHUP"] as const) process.once(signal, () => child.kill(signal));
    child.on("error", reject);
    child.on("exit", (code) => resolve(code ?? 1));
  });
}
