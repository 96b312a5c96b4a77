import { spawnSync } from "node:child_process";
import { type GateStep, packaged, root, vitestColor } from "./step.ts";

/** The state of tsc's last run, so that the next run checks only changed files. */
const TYPES_SEEN = "node_modules/.cache/types.tsbuildinfo";

/** Exports that only tests import have the tag `@internal`. */
const TESTED_ONLY = ["--include", "exports,types", "--no-tag-hints", "--no-progress"];

/** All checks that run no tests, the slowest first so that two lanes end at about the same time. */
export function staticSteps(): readonly GateStep[] {
  return [
    command("types (tsc)", packaged("tsc"), "-p", ".", "--incremental", "--tsBuildInfoFile", TYPES_SEEN),
    command("lint and format (biome)", packaged("biome"), "check", "--error-on-warnings", "."),
    command("dead code (knip)", packaged("knip"), "--no-progress"),
    command("exports for tests alone (knip)", packaged("knip"), "--production", ...TESTED_ONLY),
    command("sizes, names and comments", process.execPath, "scripts/check-sizes.ts"),
    command("lock files", process.execPath, "scripts/complete-lock.ts", "--check"),
    command("imports of rooms, their drawing", process.execPath, "scripts/pictures/draw-architecture.ts", "--check"),
    command("picture of a session", process.execPath, "scripts/pictures/draw-session.ts", "--check"),
    command("generated code is fresh", process.execPath, "scripts/generate.ts", "--check"),
    command("proto lint (buf)", packaged("buf"), "lint"),
    command("proto format (buf)", packaged("buf"), "format", "--diff", "--exit-code"),
    breakingStep(),
  ];
}

/** The unit tests; all other tests need real programs and belong to `npm test`. */
export const unitStep = (): GateStep =>
  command("unit tests (vitest)", packaged("vitest"), "run", "--project", "unit", "--reporter=dot", ...vitestColor);

function command(name: string, program: string, ...args: string[]): GateStep {
  return { type: "command", name, argv: [program, ...args] };
}

/** Compares the messages with those on the main branch: the local branch, or else that of the cloned repository. */
function breakingStep(): GateStep {
  const name = "proto compatibility (buf)";
  const base = ["main", "origin/main"].find((branch) => hasProtos(branch));
  if (base === undefined) return { type: "nothing", name, reason: "no main branch with messages to compare with" };
  return command(name, packaged("buf"), "breaking", "--against", `.git#ref=${base},subdir=proto`);
}

function hasProtos(branch: string): boolean {
  const listed = spawnSync("git", ["ls-tree", "-r", "--name-only", branch, "proto"], { cwd: root, encoding: "utf8" });
  return listed.status === 0 && listed.stdout.includes(".proto");
}
