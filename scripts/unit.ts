// Runs the unit tests alone: they start no program, so they need no set-up. See `HELP`.
import { spawnSync } from "node:child_process";
import { packaged, root, toolEnvironment, vitestColor } from "./step.ts";

const HELP = `Runs the unit tests, without any set-up of programs.

Usage: npm run unit [-- PATTERN... [-w] [flags of vitest]]

  npm run unit                      all of them
  npm run unit -- pane/state        those whose path contains the pattern
  npm run unit -- pane/state -w     again whenever a file changes that they use
  npm run unit -- judge -t "idle"   of those, the ones whose name matches`;

const words = process.argv.slice(2);
if (words.includes("--help") || words.includes("-h")) console.log(HELP);
else {
  const isWatched = words.some((word) => word === "-w" || word === "--watch");
  const rest = words.filter((word) => word !== "-w" && word !== "--watch");
  const mode = isWatched ? "watch" : "run";
  const args = [mode, "--project", "unit", ...(isWatched ? [] : vitestColor), ...rest];
  const { status } = spawnSync(packaged("vitest"), args, { cwd: root, stdio: "inherit", env: toolEnvironment() });
  process.exitCode = status ?? 1;
}
