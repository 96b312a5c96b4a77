// Everything that CI runs, with all set-up: tmux, the agent programs of the tests, the checks, and all tests.
//
//   npm test                   everything; the last line is "N passed, N failed, N skipped"
//   npm test -- PATTERN …      the tests whose file matches, without the checks; vitest's own options work too
//
// With CI=true a program that is missing is a failure; otherwise its tests are skipped and one line says what to
// install.
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { agentProgram } from "../test/support/agents/agents-install.ts";
import { staticSteps } from "./check-steps.ts";
import { ensureTestPrograms } from "./programs/ensure-test-programs.ts";
import { ensureTmux } from "./programs/ensure-tmux.ts";
import { packaged, printStep, root, runSteps, toolEnvironment, vitestColor } from "./step.ts";
import { type Counts, countsLine, none, plus } from "./testing/counts.ts";

const HELP = `Runs the tests, with all set-up: tmux, programs for tests, checks.

Usage: npm test [-- PATTERN... [flags of vitest run]]

  npm test                          everything; the last line is "N passed, N failed, N skipped"
  npm test -- gt-usage              the tests whose file matches, without the checks
  npm test -- gt-usage -t "host"    of those, the ones whose name matches

With CI=true a program that is missing is a failure; otherwise its tests are skipped.`;

const LANES = 2;
const log = (line: string): void => console.log(line);

async function main(patterns: readonly string[]): Promise<Counts> {
  const scratch = await mkdtemp(join(tmpdir(), "gt-test-"));
  try {
    const setUp = await prepare(scratch);
    const checks = patterns.length > 0 ? none : await runChecks();
    return [setUp, checks, await runTests(patterns, scratch)].reduce(plus);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Real programs that tests need. What cannot be had is a failure in CI; elsewhere the tests that need it say so. */
async function prepare(scratch: string): Promise<Counts> {
  const parts: readonly [string, () => Promise<string>][] = [
    ["tmux", () => useTmux(join(scratch, "bin"))],
    ["programs for tests", () => ensureTestPrograms({ log })],
    ["agent programs for tests", () => agentProgram("claude-2.1.330")],
  ];
  let counts = none;
  for (const [name, part] of parts) {
    log(`${name} …`);
    try {
      log(`${name}: ${await part()}`);
    } catch (err) {
      log(`${name}: ${err instanceof Error ? err.message : String(err)}`);
      if (process.env["CI"] === "true") counts = plus(counts, { ...none, failed: 1 });
    }
  }
  return counts;
}

/** Tests find tmux by PATH: in a folder of its own, so that nothing else that lies beside it comes first too. */
async function useTmux(folder: string): Promise<string> {
  const { path, version } = await ensureTmux({ log });
  await mkdir(folder);
  await symlink(path, join(folder, "tmux"));
  process.env["PATH"] = [folder, process.env["PATH"] ?? ""].join(delimiter);
  return `${version}, ${path}`;
}

async function runChecks(): Promise<Counts> {
  const results = await runSteps(staticSteps(), LANES, printStep);
  const failed = results.filter((result) => !result.ok).length;
  return { passed: results.length - failed, failed, skipped: 0 };
}

async function runTests(patterns: readonly string[], scratch: string): Promise<Counts> {
  const file = join(scratch, "counts.json");
  const reporters = ["--reporter=./scripts/testing/count-reporter.ts", "--reporter=default"];
  const code = await run(packaged("vitest"), ["run", ...reporters, ...vitestColor, ...patterns], {
    ...toolEnvironment(),
    GT_TEST_COUNTS: file,
    TMPDIR: scratch,
  });
  const counts = await readFile(file, "utf8").then(
    (text) => JSON.parse(text) as Counts,
    () => none,
  );
  // vitest that breaks before or beside the tests must not look like a pass.
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

const argv = process.argv.slice(2);
if (argv.includes("--help") || argv.includes("-h")) {
  console.log(HELP);
} else {
  const counts = await main(argv);
  console.log(countsLine(counts));
  process.exitCode = counts.failed > 0 ? 1 : 0;
}
